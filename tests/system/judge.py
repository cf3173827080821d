"""Shared by the tests that check a run's files: stages of a small data set and a small network, and the program."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

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

# After RETRIEVAL: grey images; the flows that train and evaluate.
QUERIES = """
[stage.query_items]
like = "items"
split = "query"
[stage.decode]
use = "image.decode"
colour = "grey"
"""

FLOWS = """
[flow]
train = "items -> triplets -> decode -> triplet_batch -> model -> triplet_loss -> adam"
gallery = "query_items -> decode -> batch -> model -> gallery"
evaluate = "query_items -> decode -> batch -> model -> search -> recall"
"""


class Judge:
    """The program in a temporary folder, and what a test finds wrong with its files."""

    def __init__(self):
        self.seam = pathlib.Path(sys.argv[1]).resolve()
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.failures = []

    def call(self, *arguments, **variables):
        """Runs the program in the folder."""
        return subprocess.run([self.seam, *arguments], cwd=self.folder, capture_output=True, text=True, check=False,
                              env=os.environ | variables)

    def succeed(self, *arguments, **variables):
        """Runs the program; ends the test if it fails."""
        ran = self.call(*arguments, **variables)
        if ran.returncode != 0:
            sys.exit(f"seam {' '.join(map(str, arguments))}: exit code {ran.returncode}\n{ran.stderr}")
        return ran

    def run(self, file, out, *options, **variables):
        """Runs a pipeline file into the folder `out`; ends the test if the run fails."""
        return self.succeed("run", file, "--run-dir", out, *options, **variables)

    def holds(self, condition, what):
        if not condition:
            self.failures.append(what)

    def check(self, what, found, expected=True):
        self.holds(found == expected, f"{what}: {found!r} instead of {expected!r}")

    def refused(self, what, part, *arguments, code=2):
        """The program must end with this code and name the reason."""
        ran = self.call(*arguments)
        self.holds(ran.returncode == code and part in ran.stderr,
                   f"{what}: exit code {ran.returncode}, without '{part}'\n{ran.stderr}")

    def scores(self, run):
        return json.loads((self.folder / run / "score.json").read_text())["scores"]

    def end(self):
        """Prints the failures and ends the test."""
        self.temporary.cleanup()
        print("\n".join(self.failures))
        sys.exit(1 if self.failures else 0)
