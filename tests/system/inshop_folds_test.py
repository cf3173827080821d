"""What scripts/inshop-folds writes: each training item is held out once, and colours never mix.

    inshop_folds_test.py SOURCE
"""

import pathlib
import subprocess
import sys
import tempfile

script = pathlib.Path(sys.argv[1]) / "scripts" / "inshop-folds"


def lists_of(folder, fold, kind=""):
    lines = (folder / f"{fold}{kind}.txt").read_text().splitlines()
    rows = [line.split() for line in lines[2:]]
    assert int(lines[0]) == len(rows), f"fold {fold}: the first line must count the pictures"
    return {status: {(item, file) for file, item, s in rows if s == status} for status in ("train", "query", "gallery")}


def items(rows):
    return {item for item, _ in rows}


def colours(rows):
    return {(item, file.split("/")[-1][:2]) for item, file in rows}


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    rows = [f"img/W/D/id_{item:08}/{colour:02}_{view}_front.jpg id_{item:08} {'query' if item == 9 else 'train'}"
            for item in range(10) for colour in range(1, 2 + item % 3) for view in range(1, 5)]
    (folder / "list.txt").write_text("\n".join([str(len(rows)), "image_name item_id evaluation_status", *rows]) + "\n")
    subprocess.run([script, folder / "list.txt", folder / "folds", "3"], check=True, stdout=subprocess.DEVNULL)
    known = {f"id_{item:08}" for item in range(9)}
    held_out = []
    for fold in range(3):
        plain, cross = lists_of(folder / "folds", fold), lists_of(folder / "folds", fold, ".cross-colour")
        for parts in (plain, cross):
            assert not items(parts["train"]) & items(parts["query"] | parts["gallery"]), "an item is trained and held out"
            assert items(parts["train"] | parts["query"] | parts["gallery"]) == known, "items are missing, or of the test"
            assert items(parts["query"]) <= items(parts["gallery"]), "a query has no answer"
            assert not parts["query"] & parts["gallery"], "a picture is both query and gallery"
        assert plain["train"] == cross["train"], "the two lists of a fold must train on the same pictures"
        assert not colours(cross["query"]) & colours(cross["gallery"]), "a colour is both query and gallery"
        assert items(cross["query"]) == {item for item, colour in colours(cross["gallery"] | cross["query"]) if colour == "02"}
        held_out += items(plain["query"])
    assert sorted(held_out) == sorted(known), "each training item must be held out once"
    first = (folder / "folds" / "0.txt").read_bytes()
    subprocess.run([script, folder / "list.txt", folder / "again", "3"], check=True, stdout=subprocess.DEVNULL)
    assert first == (folder / "again" / "0.txt").read_bytes(), "the same list must be cut in the same way"
    refused = subprocess.run([script, folder / "list.txt", folder / "folds", "10"], capture_output=True, text=True)
    assert refused.returncode == 1 and "9 training items" in refused.stderr, refused.stderr
print("folds: fine")
