"""How the weights of a score were selected: selection_test.py SEAM.

A run that keeps its best epoch by recall on a list. Its weights are evaluated on that list and on another one; the page of
`seam report` and the terminal must report the selection, also after a resume.
"""

import shutil

from judge import FLOWS, NETWORK, QUERIES, RETRIEVAL, WARDROBE, Judge

PIPELINE = WARDROBE + NETWORK + RETRIEVAL + QUERIES + FLOWS + """
[pipeline]
name = "chosen"
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

judge = Judge()
(judge.folder / "train.toml").write_text(PIPELINE.replace("[stage.items]", "[stage.items]\ntest_share = 0.5") +
                                   'keep = { best = "recall.none.r@1", last = 1 }\n')
(judge.folder / "measure.toml").write_text('extends = "train.toml"\n' + MEASURES)
judge.run("train.toml", "trained")
judge.check("a run's own score", {score["selected_on"] for score in judge.scores("trained")}, {"last"})
cases = {"same": ([], "test"), "other": (["--set", "stage.query_items.split=gallery"], "val")}
for out, (options, expected) in cases.items():
    ran = judge.run("measure.toml", out, "--set", "stage.model.weights=trained", *options)
    for score in judge.scores(out):
        judge.check(f"{out}: {score['metric']}", score["selected_on"], expected)
        judge.check(f"{out}: chosen by", [one["chosen_by"] for one in score["weights"]], ["evaluate:recall.none.r@1"])
    judge.check(f"{out}: the terminal names the metric", "the best by evaluate:recall.none.r@1" in ran.stdout, True)
    judge.check(f"{out}: the terminal says that it is biased", "biased upwards" in ran.stdout, expected == "test")
compared = judge.call("compare", "trained", "same")
judge.check("seam compare names the run",
            "these runs use weights that were selected on their evaluation data, so their values are biased upwards:\n  same\n" in compared.stdout, True)
table = judge.call("compare", "trained", "same", "--csv").stdout.splitlines()
judge.check("as CSV", sorted(line.split(",")[-2:] for line in table[1:]), [["last", "false"], ["last", "true"]])
page = judge.folder / judge.succeed("report", ".").stdout.strip()
judge.check("the table of runs marks its scores", page.read_text().count("weights selected on this data: biased upwards"),
            len(judge.scores("same")))
before = (judge.folder / "same/score.json").read_bytes()
judge.run("train.toml", "on", "--set", "stage.model.weights=trained", "--set", "schedule.epochs=1")
# The record of the selection is passed on, and the old run is no longer needed: the checkpoint has the weights.
shutil.rmtree(judge.folder / "trained")
judge.check("trained on", {score["selected_on"] for score in judge.scores("on") if score["flow"] == "evaluate"}, {"test"})
judge.succeed("run", "--from", "on", "--run-dir", "further", "--set", "schedule.epochs=2")
judge.check("its score", {score["selected_on"] for score in judge.scores("further") if score["flow"] == "evaluate"}, {"test"})
judge.check("the other run's score", (judge.folder / "same/score.json").read_bytes(), before)
judge.refused("another evaluation of later epochs", "'stage.query_items.split' changes how epochs are evaluated",
              "run", "--from", "on", "--run-dir", "otherwise", "--set", "schedule.epochs=2", "--set", "stage.query_items.split=gallery")

# The direction is that of the stage's headline.
early = 'schedule.stop_early={ metric = "triplet_loss.loss", patience = 3 }'
judge.run("train.toml", "early", "--set", early, "--set", "schedule.epochs=1")
judge.check("a loss is better if it is lower", 'goal = "lowest"' in (judge.folder / "early/resolved.toml").read_text())
judge.refused("the other direction", "'triplet_loss.loss' is better if it is lower: set goal = \"lowest\", or remove it", "check", "train.toml",
              "--set", early.replace("patience", 'goal = "highest", patience'))

judge.end()
