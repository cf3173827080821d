"""How the weights of a score were selected: selection_test.py SEAM.

A run that keeps its best epoch by recall on a list. Its weights are evaluated on that list and on another one; the page of
`seam report` and the terminal must report the selection, also after a resume.
"""

import json
import os
import shutil
import pathlib
import subprocess
import sys
import tempfile

from runs import NETWORK, RETRIEVAL, WARDROBE, run

PIPELINE = WARDROBE + NETWORK + RETRIEVAL + """
[pipeline]
name = "chosen"
[stage.query_items]
like = "items"
split = "query"
[stage.decode]
use = "image.decode"
colour = "grey"
[flow]
train = "items -> triplets -> decode -> triplet_batch -> model -> triplet_loss -> adam"
gallery = "query_items -> decode -> batch -> model -> gallery"
evaluate = "query_items -> decode -> batch -> model -> search -> recall"
[schedule]
epochs = 3
"""
# Only evaluates.
MEASURES = """
[schedule]
epochs = 1
each_epoch = ["gallery", "evaluate"]
keep = 1
"""

seam = pathlib.Path(sys.argv[1]).resolve()
failures = []


def check(what, found, expected):
    if found != expected:
        failures.append(f"{what}: {found!r} instead of {expected!r}")


def scores(folder):
    return json.loads((folder / "score.json").read_text())["scores"]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "train.toml").write_text(PIPELINE.replace("[stage.items]", "[stage.items]\ntest_share = 0.5") +
                                       'keep = { best = "recall.none.r@1", last = 1 }\n')
    (folder / "measure.toml").write_text('extends = "train.toml"\n' + MEASURES)
    run(seam, folder, "train.toml", "trained")
    check("a run's own score", {score["selected_on"] for score in scores(folder / "trained")}, {"last"})
    cases = {"same": ([], "test"), "other": (["--set", "stage.query_items.split=gallery"], "val")}
    for out, (options, expected) in cases.items():
        command = [seam, "run", "measure.toml", "--run-dir", out, "--set", "stage.model.weights=trained", *options]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ)
        if ran.returncode != 0:
            sys.exit(f"{out}: exit code {ran.returncode}\n{ran.stderr}")
        for score in scores(folder / out):
            check(f"{out}: {score['metric']}", score["selected_on"], expected)
            check(f"{out}: chosen by", [one["chosen_by"] for one in score["weights"]], ["evaluate:recall.none.r@1"])
        check(f"{out}: the terminal names the metric", "the best by evaluate:recall.none.r@1" in ran.stdout, True)
        check(f"{out}: the terminal says that it is biased", "biased upwards" in ran.stdout, expected == "test")
    compared = subprocess.run([seam, "compare", "trained", "same"], cwd=folder, capture_output=True, text=True, check=False)
    check("seam compare names the run",
          "these runs use weights that were selected on their evaluation data, so their values are biased upwards:\n  same\n" in compared.stdout, True)
    before = (folder / "same/score.json").read_bytes()
    run(seam, folder, "train.toml", "on", "--set", "stage.model.weights=trained", "--set", "schedule.epochs=1")
    # The record of the selection is passed on, and the old run is no longer needed: the checkpoint has the weights.
    shutil.rmtree(folder / "trained")
    check("trained on", {score["selected_on"] for score in scores(folder / "on") if score["flow"] == "evaluate"}, {"test"})
    ran = subprocess.run([seam, "run", "--from", "on", "--run-dir", "further", "--set", "schedule.epochs=2"], cwd=folder,
                         capture_output=True, text=True, check=False)
    check("begun with it", ran.returncode, 0)
    check("its score", {score["selected_on"] for score in scores(folder / "further") if score["flow"] == "evaluate"}, {"test"})
    check("the other run's score", (folder / "same/score.json").read_bytes(), before)

print("\n".join(failures))
sys.exit(1 if failures else 0)
