"""What the tests that judge a run's files share: stages of a small data set and a small network, and the run."""

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


def run(seam, folder, file, out, *options, **variables):
    """Runs a pipeline file in `folder`, into `folder`/`out`; ends the test where the run fails."""
    command = [pathlib.Path(seam).resolve(), "run", file, "--run-dir", out, *options]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | variables)
    if ran.returncode != 0:
        sys.exit(f"{file}: exit code {ran.returncode}\n{ran.stderr}")
