"""`seam eval` evaluates the network of a finished run again: eval_test.py SEAM.

The scores must be those of the training, other data must change them, the folder must name the run, comparisons must not
mistake the evaluation for a training, and settings that do not fit or have no effect must be rejected by name.
"""

import json
import shutil

from judge import NETWORK, QUERIES, RETRIEVAL, WARDROBE, Judge

PIPELINE = WARDROBE.replace("[stage.items]", "[stage.items]\ntest_share = 0.5") + NETWORK + RETRIEVAL + QUERIES + """
[pipeline]
name = "trained"
[path]
embed = "decode -> batch -> model"
[flow]
train = "items -> triplets -> decode -> triplet_batch -> model -> triplet_loss -> adam"
gallery = "query_items -> embed -> gallery"
evaluate = "query_items -> embed -> search -> recall"
[schedule]
epochs = 2
before = ["gallery", "evaluate"]
each_epoch = ["train", "gallery", "evaluate"]
"""

judge = Judge()


def scores(run):
    return {(score["flow"], score["metric"]): score for score in judge.scores(run)}


def refused(what, part, *arguments):
    judge.refused(what, part, "eval", *arguments, "--run-dir", "refused")


folder = judge.folder
(folder / "train.toml").write_text(PIPELINE)
for seed in (1, 2):
    judge.run("train.toml", f"seed{seed}", "--set", f"pipeline.seed={seed}")
whole = scores("seed1")
judge.check("the fault that this test looks for", any(score["beside"][0]["value"] != score["value"]
                                                      for score in whole.values() if score.get("beside")))

# As if it had been killed after its last checkpoint.
(folder / "seed1/summary.json").unlink()
refused("a run without a summary", "'seed1' is not a complete run (interrupted", "seed1")
judge.succeed("run", "--resume", "seed1")
again = judge.succeed("eval", "seed1", "--run-dir", "again", "--quiet")
judge.check("no message about flows that train", "train" in again.stderr.replace("trained", ""), False)
measured = scores("again")
judge.check("flows", {flow for flow, _ in measured}, {"evaluate"})
for key, score in measured.items():
    judge.check(f"{key} of the same data", score["value"], whole[key]["value"])
resolved = (folder / "again/resolved.toml").read_text()
judge.check("the folder names the run", f'#: [evaluates]\n#: run = "{folder.resolve() / "seed1"}"\n'
            '#: checkpoint = "epoch-2.safetensors"\n' in resolved)
judge.check("no flow trains", 'each_epoch = ["gallery", "evaluate"]' in resolved)
judge.succeed("run", "--resume", "again")
judge.succeed("report", "again")
judge.check("the page has it", "seed1/epoch-2.safetensors" in (folder / "again/report.html").read_text())

# A different list; the best checkpoint, if one was kept.
other = judge.succeed("eval", "seed2", "--run-dir", "other", "--set", "stage.query_items.split=gallery")
judge.check("it says which checkpoint", "evaluating seed2/epoch-2.safetensors" in other.stderr)
judge.run("train.toml", "kept", "--set", "schedule.keep={best=\"recall.none.r@1\",last=2}")
best = {score["best"]["epoch"] for key, score in scores("kept").items() if key[1] == "recall.none.r@1"}.pop()
judge.succeed("eval", "kept", "--run-dir", "of_kept")
judge.check("the best", f'checkpoint = "epoch-{best + 1}.safetensors"' in (folder / "of_kept/resolved.toml").read_text())
judge.check("evaluations of the best and of the last checkpoint are ranked separately",
            sorted(ranking["data"]["weights"] for ranking in
                   json.loads(judge.succeed("compare", "of_kept", "again", "--json").stdout)["rankings"]),
            ["best by evaluate:recall.none.r@1", "last"])
judge.check("chosen on its data", {score["selected_on"] for score in scores("of_kept").values()}, {"test"})

# Weights that the network did not import for the training are imported now.
judge.run("train.toml", "skipping", "--set", "stage.model.weights=seed1", "--set", 'stage.model.skip=["f.0.*"]')
judge.succeed("eval", "skipping", "--run-dir", "of_skipping")
judge.check("all weights", [score["value"] for key, score in sorted(scores("of_skipping").items())],
            [score["value"] for key, score in sorted(scores("skipping").items()) if key[0] == "evaluate"])

# Two trainings of one name; runs that start from them, or from their weights, are different.
for place, seed in (("a", 1), ("b", 2)):
    (folder / place).mkdir()
    judge.run("train.toml", f"{place}/base", "--set", f"pipeline.seed={seed}", "--set", "schedule.epochs=1")
    judge.succeed("run", "--from", f"{place}/base", "--set", "schedule.epochs=2", "--set", "pipeline.seed=9",
                  "--run-dir", f"from_{place}")
    judge.succeed("eval", f"from_{place}", "--run-dir", f"of_from_{place}")
    shutil.copy(folder / place / "base/checkpoints/epoch-1.safetensors", folder / "w.safetensors")
    judge.run("train.toml", f"imported_{place}", "--set", "stage.model.weights=w.safetensors", "--set", f"pipeline.seed={seed}")
    judge.succeed("eval", f"imported_{place}", "--run-dir", f"of_imported_{place}")
# The same command again continues its own run only.
for name, seed, reason in (
        ("imported_a", 1, "the content of stage.model.weights has changed since the run in 'imported_a' was started"),
        ("from_a", 9, "the run in 'from_a' was started from base/epoch-1.safetensors, so it is not the one that 'train.toml'"),
        ("again", 1, "the run in 'again' evaluates seed1/epoch-2.safetensors, so it is not the one that 'train.toml'")):
    judge.refused(f"{name} again", reason, "run", "train.toml", "--run-dir", name, "--resume-if-present",
                  "--set", "stage.model.weights=w.safetensors", "--set", f"pipeline.seed={seed}")
judge.succeed("run", "--resume", "imported_a")
again_b = ("run", "train.toml", "--run-dir", "imported_b", "--resume-if-present", "--set", "stage.model.weights=w.safetensors",
           "--set", "pipeline.seed=2")
judge.succeed(*again_b)
(folder / "w.safetensors").unlink()
judge.succeed(*again_b)
judge.succeed("run", "--resume", "imported_b")
for name in ("from", "of_from", "imported", "of_imported"):
    compared = json.loads(judge.succeed("compare", f"{name}_a", f"{name}_b", "--json").stdout)
    judge.check(f"runs {name} different checkpoints of one name", [len(one["groups"]) for one in compared["rankings"]], [2])
judge.check("the content is a parameter", {key for group in json.loads(
    judge.succeed("compare", "from_a", "from_b", "--json").stdout)["rankings"][0]["groups"] for key in group["parameters"]},
            {"from (content)"})

# Comparisons: separate from trainings; evaluations of two seeds are one group with the parameters of the training.
judge.succeed("eval", "seed2", "--run-dir", "again2")
compared = json.loads(judge.call("compare", "seed1", "seed2", "again", "again2", "--json").stdout)
rankings = [(ranking["data"]["run by"], [sorted(member["run"] for member in group["runs"]) for group in ranking["groups"]])
            for ranking in compared["rankings"]]
judge.check("rankings", sorted(rankings), [("seam eval", [["again", "again2"]]), ("seam run", [["seed1", "seed2"]])])
judge.succeed("eval", "seed1", "--run-dir", "coloured", "--set", "stage.decode.colour=rgb")
compared = json.loads(judge.call("compare", "again", "coloured", "--json").stdout)
judge.check("evaluations of one network with different changes are ranked separately",
            [len(ranking["groups"]) for ranking in compared["rankings"]], [1, 1])
shutil.copytree(folder / "seed1", folder / "narrow")  # as if it had been resumed with --precision bfloat16
summary = folder / "narrow/summary.json"
summary.write_text(json.dumps(json.loads(summary.read_text()) | {"precision": "bfloat16"}))
judge.succeed("eval", "narrow", "--run-dir", "of_narrow")
compared = json.loads(judge.call("compare", "again", "of_narrow", "--json").stdout)
judge.check("evaluations of trainings in different precisions",
            len(compared["rankings"][0]["groups"]), 2)
judge.run("train.toml", "longer", "--set", "schedule.epochs=3", "--set", "pipeline.seed=1")
judge.succeed("eval", "longer", "--run-dir", "of_longer")
compared = json.loads(judge.call("compare", "again", "of_longer", "--json").stdout)
judge.check("evaluations of different trainings", len(compared["rankings"][0]["groups"]), 2)

# Trainings on different data under one name remain different next to an evaluation of one of them.
pictures = sorted((folder / "wardrobe/img").rglob("*.*"))
(folder / "listed.toml").write_text(PIPELINE.replace('"items ->', '"train_items ->') +
                                    '[stage.train_items]\nuse = "dataset.table"\ntable = "train.csv"\n')
for seed, rows in ((1, pictures[:40]), (2, pictures[:60])):
    (folder / "train.csv").write_text("path,item\n" + "".join(f"{path},{path.parent.name}\n" for path in rows))
    judge.run("listed.toml", f"listed{seed}", "--set", f"pipeline.seed={seed}")
    judge.succeed("eval", f"listed{seed}", "--run-dir", f"of_listed{seed}")
for runs in (("listed1", "listed2", "of_listed1"), ("of_listed1", "of_listed2")):
    compared = json.loads(judge.call("compare", *runs, "--json").stdout)
    judge.check(f"groups of {runs}", max(len(ranking["groups"]) for ranking in compared["rankings"]), 2)

refused("a network that the weights do not fit", "stage 'model'", "seed1", "--set", "stage.model.width=16")
refused("a stage that only trains", "'stage.adam.rate' would have no effect", "seed1", "--set", "stage.adam.rate=0.1")
refused("a flow that trains", "'flow.train' would have no effect", "seed1", "--set", "flow.train=items -> decode")
refused("the schedule", "'schedule.epochs' cannot be set", "seed1", "--set", "schedule.epochs=3")
refused("weights", "'stage.model.weights' cannot be set", "seed1", "--set", "stage.model.weights=seed2")
refused("lanes", "an evaluation computes in the lanes of its run", "seed1", "--set", "pipeline.lanes=2")
refused("the seed", "keeps the seed of the training", "seed1", "--set", "pipeline.seed=2")
refused("an evaluation", "did not train", "again")
refused("a folder without a run", "is not a run folder", ".")
refused("training in an evaluation", "adds a stage that trains", "seed1", "--set",
        "flow.evaluate=items -> triplets -> decode -> triplet_batch -> model -> triplet_loss -> adam")
summary = folder / "seed2/summary.json"
text = json.loads(summary.read_text())
summary.write_text(json.dumps(text | {"complete": False, "exit_code": 4}))
refused("a run that was stopped", "'seed2' is not a complete run (stopped", "seed2")

edited = folder / "seed1/resolved.toml"
edited.write_text(edited.read_text().replace("per_epoch = 24", "per_epoch = 28"))
refused("an edited resolved.toml", "resolved.toml was changed after 'epoch-2.safetensors' was written", "seed1")

judge.end()
