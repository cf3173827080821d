"""Training at the sizes of the pipeline files gives the same bytes with 1 and with 3 threads.

    threads_test.py SEAM PIPELINES

LibTorch divides an operation among threads only if it is large, so tests of small networks cannot show which of its
operations depend on that. Needs SEAM_TEST_DATA.
"""

import os
import pathlib
import shutil
import sys

from judge import Judge, tensors

pipelines = pathlib.Path(sys.argv[2]).resolve()
data = pathlib.Path(os.environ.get("SEAM_TEST_DATA", "none")).resolve()
if not data.is_dir():
    print("SEAM_TEST_DATA is not set")
    sys.exit(77)
folders = {"DEEPFASHION": str(data / "deepfashion-inshop"), "ATT": str(data / "att_faces")}

# File, images to train on, more options.
CASES = (
    ("descriptors/type-d.toml", 400, ["--set", "schedule.stop_early=false"]),
    ("inshop-embedding.toml", 400, []),
    ("inshop-capsules.toml", 400, ["--variant", "own_weights"]),
    ("inshop-capsules.toml", 400, ["--variant", "rccapsnet"]),
    ("inshop-sccapsnet.toml", 6, ["--set", "stage.model.classes=23", "--set", "stage.model.train_mask=none"]),
    ("siamese/att-scnet.toml", 16, []),
    ("siamese/att-alexnet.toml", 32, []),
)
TRAIN_ONLY = ("schedule.before=[]", "schedule.floors=[]", "schedule.after=[]", "schedule.epochs=1",
              'schedule.each_epoch=["train"]')


judge = Judge()
for file, images, options in CASES:
    case = " ".join([file, *options])
    changes = [word for change in (*TRAIN_ONLY, f"stage.train_items.limit={images}") for word in ("--set", change)]
    runs = [judge.folder / str(threads) for threads in (1, 3)]
    for run in runs:
        shutil.rmtree(run, ignore_errors=True)
        judge.run(pipelines / file, run, "--threads", run.name, *options, *changes, **folders)
    one, three = ((run / "metrics.jsonl").read_text().splitlines() for run in runs)
    judge.check(f"{case}: metrics", len(one) > 0 and len(one) == len(three))
    judge.check(f"{case}: the first metric that differs", next((pair for pair in zip(one, three) if pair[0] != pair[1]), None), None)
    one, three = (tensors(run, "epoch-1") for run in runs)
    judge.check(f"{case}: the same weights", one == three)
judge.end()
