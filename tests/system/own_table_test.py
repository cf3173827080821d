"""The file of `seam new pipeline --table` passes the check and trains: own_table_test.py SEAM."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from runs import WARDROBE, run

seam = pathlib.Path(sys.argv[1]).resolve()
failures = []


def check(what, found, expected=True):
    if found != expected:
        failures.append(f"{what}: {found!r} instead of {expected!r}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)

    def call(*arguments):
        return subprocess.run([seam, *arguments], cwd=folder, capture_output=True, text=True, check=False, env=os.environ)

    def refused(what, part, table):
        (folder / "bad.csv").write_text(table)
        ran = call("new", "pipeline", "bad", "--table", "bad.csv")
        check(f"{what}: exit code", ran.returncode, 2)
        check(f"{what}: {part!r} in {ran.stderr!r}", part in ran.stderr)
        check(f"{what}: nothing is written", (folder / "bad.toml").exists(), False)

    # Images of a user: drawn by the program, but only their files and items are known.
    (folder / "draw.toml").write_text(WARDROBE + '[stage.decode]\nuse = "image.decode"\n[flow]\ndraw = "items -> decode"\n')
    run(seam, folder, "draw.toml", "drawn")
    pictures = [(file.relative_to(folder), file.parent.name) for file in sorted((folder / "wardrobe/img").rglob("*.jpg"))]
    items = sorted({item for _, item in pictures})
    check("items", len(items) >= 20)

    def split_of(item, number):
        if items.index(item) % 2 == 0:
            return "train"
        return "query" if number % 2 == 0 else "gallery"

    tables = {
        "plain": "file,item\n" + "".join(f"{file},{item}\n" for file, item in pictures),
        "split": "item;path;split\r\n" + "".join(f'"{item}";{file};{split_of(item, number)}\r\n'
                                                 for number, (file, item) in enumerate(pictures)),
        "leave_one_out": "path,label,split\n" + "".join(
            f"{file},{item},{'train' if items.index(item) % 2 == 0 else 'test'}\n" for file, item in pictures)}
    for kind, table in tables.items():
        (folder / f"{kind}.csv").write_text(table)
        made = call("new", "pipeline", kind, "--table", f"{kind}.csv")
        check(f"{kind}: made, {made.stderr}", made.returncode, 0)
        text = (folder / f"{kind}.toml").read_text()
        check(f"{kind}: nothing is left open", "template" in text, False)
        checked = call("check", f"{kind}.toml")
        check(f"{kind}: {checked.stdout}{checked.stderr}", (checked.returncode, "warning" in checked.stderr), (0, False))
        ran = call("run", f"{kind}.toml", "--run-dir", f"runs/{kind}", "--set", "schedule.epochs=1", "--set",
                   "stage.pairs.per_epoch=2", "--set", "stage.model.width=4")
        check(f"{kind}: {ran.stderr[-600:]}", ran.returncode, 0)
        if ran.returncode != 0:
            continue
        scores = json.loads((folder / f"runs/{kind}/score.json").read_text())["scores"]
        recall = next(score for score in scores if score["metric"] == "recall.none.r@1")
        check(f"{kind}: floors", {one["name"] for one in recall["beside"]}, {"chance", "before", "pixels"})

    refused("no files", "no column for files", "picture,item\na.jpg,1\n")
    refused("no items", "no column for items", "path,name\na.jpg,1\n")
    refused("no rows", "no rows", "path,item\n")
    refused("other splits", "has the splits dev, train", "path,item,split\na.jpg,1,train\nb.jpg,2,dev\n")
    refused("few items", "1 item", "path,item\na.jpg,1\nb.jpg,1\n")
    refused("a doubled file", "'a.jpg' in rows 2 and 3", "path,item\na.jpg,1\na.jpg,1\nb.jpg,2\n")
    refused("single images", "0 training items with two or more images",
            "path,item\n" + "".join(f"{n}.jpg,{n}\n" for n in range(8)))
    refused("cells", "3 cells in row 2", "path,item\na.jpg,1,2\n")

print("\n".join(failures))
sys.exit(1 if failures else 0)
