"""Shared by the tests that check a run's files: stages of a small data set and a small network, and the run."""

import os
import pathlib
import subprocess
import sys

# 28 garments in two colours, two views each; the first run draws them.
WARDROBE = """
[stage.items]
use = "dataset.wardrobe"
root = "wardrobe"
items = 28
colours = 2
views = 2
size = 32
"""

NETWORK = """
[stage.model]
use = "model.sccapsnet"
classes = 14
width = 8
primary_channels = 64
"""

# Training on triplets and leave-one-out evaluation.
RETRIEVAL = """
[stage.triplets]
use = "sampling.triplets"
per_epoch = 24
[stage.triplet_batch]
use = "batch"
size = 12
group_size = 3
[stage.batch]
use = "batch"
size = 16
[stage.triplet_loss]
use = "loss.triplet"
[stage.adam]
use = "train.adam"
[stage.gallery]
use = "retrieval.index"
[stage.search]
use = "retrieval.search"
index = "gallery"
k = 10
exclude_self = true
[stage.recall]
use = "retrieval.recall"
k = [1, 5]
"""


def run(seam, folder, file, out, *options, **variables):
    """Runs a pipeline file in `folder`, into `folder`/`out`; ends the test if the run fails."""
    command = [pathlib.Path(seam).resolve(), "run", file, "--run-dir", out, *options]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | variables)
    if ran.returncode != 0:
        sys.exit(f"{file}: exit code {ran.returncode}\n{ran.stderr}")
