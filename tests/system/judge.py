"""Shared by the tests that check a run's files: stages of a small data set and a small network, and the program."""

import csv
import importlib
import json
import os
import pathlib
import struct
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

# Leave-one-out evaluation, and with training on triplets.
SEARCH = """
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

RETRIEVAL = """
[stage.triplets]
use = "sampling.triplets"
per_epoch = 24
[stage.triplet_batch]
use = "batch"
size = 12
[stage.batch]
use = "batch"
size = 16
[stage.triplet_loss]
use = "loss.triplet"
[stage.adam]
use = "train.adam"
""" + SEARCH

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


def needed(*names):
    """These modules; ends the test as skipped without one of them."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)


def embeddings(folder, name="embeddings"):
    """The rows of a table of embeddings, each with the bytes of its vector."""
    with open(folder / f"{name}.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    vectors = (folder / f"{name}.npy").read_bytes()[128:]
    size = len(vectors) // max(1, len(rows))
    return [(row, vectors[i * size:(i + 1) * size]) for i, row in enumerate(rows)]


def metrics(run):
    return (run / "metrics.jsonl").read_bytes()


def tensors(run, name="epoch-2"):
    """The checkpoint without its metadata, which has durations and the text of the pipeline."""
    content = (run / "checkpoints" / f"{name}.safetensors").read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__")
    return {key: (entry["dtype"], entry["shape"], content[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for key, entry in header.items()}


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

    def draw_wardrobe(self):
        """Draws the photographs of WARDROBE; returns their files."""
        (self.folder / "draw.toml").write_text(WARDROBE + '[stage.decode]\nuse = "image.decode"\n[flow]\ndraw = "items -> decode"\n')
        self.run("draw.toml", "drawn")
        return sorted((self.folder / "wardrobe/img").rglob("*.jpg"))

    def holds(self, condition, what):
        if not condition:
            self.failures.append(what)

    def check(self, what, found, expected=True):
        self.holds(found == expected, f"{what}: {found!r} instead of {expected!r}")

    def refused(self, what, part, *arguments, code=2, **variables):
        """The program must end with this code and name the reason."""
        ran = self.call(*arguments, **variables)
        self.holds(ran.returncode == code and part in ran.stderr,
                   f"{what}: exit code {ran.returncode}, without '{part}'\n{ran.stderr}")

    def rows(self, file):
        """The rows of a CSV file."""
        with open(self.folder / file, newline="") as lines:
            return list(csv.DictReader(lines))

    def results(self, run):
        return metrics(self.folder / run), tensors(self.folder / run)

    def scores(self, run):
        return json.loads((self.folder / run / "score.json").read_text())["scores"]

    def end(self):
        """Prints the failures and ends the test."""
        self.temporary.cleanup()
        print("\n".join(self.failures))
        sys.exit(1 if self.failures else 0)
