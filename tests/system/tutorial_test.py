"""The tutorial's commands, word by word, on drawn photographs: tutorial_test.py SEAM SOURCE_TREE.

Only the trainings are shorter: the `seam` in PATH adds options to `run photos.toml` and `sweep`.
"""

import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys

from judge import WARDROBE, Judge

DRAWING = WARDROBE.replace("items = 28", "items = 112") + """
[stage.decode]
use = "image.decode"
[stage.resize]
use = "image.resize"
height = 8
width = 8
[stage.batch]
use = "batch"
[stage.model]
use = "baseline.pixels"
[stage.gallery]
use = "retrieval.index"
[flow]
draw = "items -> decode -> resize -> batch -> model -> gallery"
[schedule]
each_epoch = ["draw"]
"""

SHORTER = """#!/bin/sh
case "$*" in
  *"run pipelines/photos.toml"* | sweep*)
    set -- "$@" --set schedule.epochs=2 --set stage.pairs.per_epoch=2 --set stage.model.width=4 ;;
esac
exec "{seam}" "$@"
"""

tree = pathlib.Path(sys.argv[2]).resolve()
judge = Judge()
folder = judge.folder
text = (tree / "docs" / "tutorial.md").read_text()
script = "\n".join(re.findall(r"(?ms)^```sh\n(.*?)^```", text))

(folder / "drawing.toml").write_text('[pipeline]\nname = "drawing"\n' + DRAWING)
judge.run("drawing.toml", "drawn")
pictures = sorted((folder / "wardrobe" / "img").rglob("*.jpg"))
for picture in pictures:
    item = folder / "photos" / picture.parent.name
    item.mkdir(parents=True, exist_ok=True)
    shutil.copy(picture, item)
(folder / "new").mkdir()
for picture in pictures[:3]:
    shutil.copy(picture, folder / "new" / f"{picture.parent.name}_{picture.name}")

(folder / "pipelines").symlink_to(tree / "pipelines")
(folder / "bin").mkdir()
(folder / "bin" / "seam").write_text(SHORTER.format(seam=judge.seam))
(folder / "bin" / "seam").chmod(0o755)
done = subprocess.run(["bash", "-euxo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True,
                      env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
said = done.stdout + done.stderr
assert done.returncode == 0, said
for what in ("chance", "before", "pixels", "loss=", "arcface", "multi_similarity", "batch_hard"):
    assert what in said, f"the commands do not print '{what}':\n{said}"
assert (folder / "runs" / "first" / "report.html").exists(), "no report"
with open(folder / "runs" / "found" / "neighbours.csv", newline="") as file:
    first = [row for row in csv.DictReader(file) if row["rank"] == "1"]
assert len(first) == 3, f"three photographs were searched, not {len(first)}"
for row in first:
    found = pathlib.PurePosixPath(row["picture"])
    assert row["query"] == f"{found.parent}_{found.name}", f"{row['query']} must find itself first, not {found}"
print(f"{len(script.splitlines())} lines of the tutorial work as printed")
