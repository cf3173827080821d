"""The number of classes of a capsule network that a file omits: classes_test.py SEAM.

It is that of the categories in the training data, in a run, in the runs of a sweep and wherever the run's network is used,
and the run is the same as if the file had set it. A number that does not fit the data ends the run.
"""

import shutil

from judge import FLOWS, NETWORK, QUERIES, RETRIEVAL, WARDROBE, Judge, metrics

REST = NETWORK.replace("classes = 14\n", "") + RETRIEVAL + QUERIES + FLOWS + """
[pipeline]
name = "counted"
[schedule]
before = ["gallery", "evaluate"]
each_epoch = ["train", "gallery", "evaluate"]
"""

DATA = WARDROBE.replace("[stage.items]", "[stage.items]\ntest_share = 0.5")
ABSENT = """
[stage.items]
use = "dataset.inshop"
root = "nowhere"
split = "train"
"""

judge = Judge()
(judge.folder / "counted.toml").write_text(DATA + REST)
(judge.folder / "absent.toml").write_text(ABSENT + REST)


def classes(run):
    """The line of the network's classes in resolved.toml."""
    lines = (judge.folder / run / "resolved.toml").read_text().splitlines()
    return [line for line in lines if "classes = " in line]


first = judge.succeed("run", "counted.toml", "--run-dir", "first")
judge.check("it shows that images are drawn", first.stderr.count("drawing a wardrobe"), 1)
judge.check("the number is recorded", classes("first"), ["classes = 14"])
judge.run("counted.toml", "set", "--set", "stage.model.classes=14")
judge.check("the run is that of a file that sets it", metrics(judge.folder / "first"), metrics(judge.folder / "set"))

again = judge.succeed("run", "counted.toml", "--run-dir", "first", "--resume-if-present")
judge.check("the same command finds the run complete", "nothing left to do" in again.stderr, True)
judge.succeed("eval", "first", "--run-dir", "evaluated")
judge.check("an evaluation keeps it", classes("evaluated"), ["classes = 14"])

judge.succeed("sweep", "counted.toml", "--over", "stage.triplet_loss.margin=0.2,0.5", "--jobs", "1", "--threads", "2")
sweep = next((judge.folder / "runs").iterdir())
judge.check("the runs of a sweep count too", [classes(sweep / f"margin={margin}") for margin in ("0.2", "0.5")], [["classes = 14"]] * 2)

# Without training there is nothing to count: the network has its default.
judge.run("counted.toml", "untrained", "--set", 'schedule.each_epoch=["gallery", "evaluate"]')
judge.check("a run that does not train", classes("untrained"), ["# classes = 23  # default"])
judge.check("inspect", ["classes", "14"] in [line.split()[:2] for line in judge.succeed("inspect", "counted.toml", "model").stdout.splitlines()])

few = "the training data has 14 categories, but the network has 5 class capsules, and each category needs one; set classes = 14"
judge.refused("too few", few, "run", "counted.toml", "--set", "stage.model.classes=5", "--set", "schedule.before=[]")
judge.refused("too few, checked", few, "check", "--deep", "counted.toml", "--set", "stage.model.classes=5", "--set", "schedule.before=[]")
judge.succeed("check", "--deep", "counted.toml")
many = "the other 6 would keep their initial weights"
judge.refused("too many", many, "check", "--deep", "counted.toml", "--set", "stage.model.classes=20", "--set", "schedule.before=[]")

# Data that is not there is reported as in other files, and a check continues with the next file.
judge.refused("absent data", "the run was not started, because data is missing", "run", "absent.toml", code=3)
both = judge.call("check", "--deep", "absent.toml", "counted.toml")
judge.check("absent data, checked", (both.returncode, "because data is missing" in both.stderr), (3, True))
judge.holds("counted.toml: one batch through each of" in both.stdout, both.stdout)

# The categories of a table are numbered by their sorted names, so another name changes the classes of a trained network.
images = [path.relative_to(judge.folder) for path in sorted((judge.folder / "wardrobe/img").rglob("*.jpg"))]


def write_table(name, **renamed):
    rows = [f"{path},{path.parts[-2]},{renamed.get(path.parts[-3], path.parts[-3])}" for path in images]
    (judge.folder / name).write_text("\n".join(["path,item,category", *rows]) + "\n")


first_category = min(path.parts[-3] for path in images)
write_table("labels.csv")
(judge.folder / "table.toml").write_text("""
[stage.items]
use = "dataset.table"
table = "labels.csv"
""" + REST.replace('split = "query"\n', ""))
judge.run("table.toml", "labelled", "--set", "schedule.epochs=1")
write_table("other.csv", **{first_category: "zz_top"})
judge.refused("other classes of a trained network", f"class 0 of stage 'model' was '{first_category}' and is now",
              "run", "--from", "labelled", "--set", "stage.items.table=other.csv", "--set", "schedule.epochs=2")
again = judge.succeed("run", "table.toml", "--run-dir", "labelled", "--resume-if-present", "--set", "schedule.epochs=1")
judge.check("the same table", "nothing left to do" in again.stderr, True)
write_table("labels.csv", **{first_category: "zz_top"})
judge.refused("a complete run of other data", "the content of stage.items.table", "run", "table.toml", "--run-dir", "labelled",
              "--resume-if-present", "--set", "schedule.epochs=1")

# No parameter names the files in a folder, so the data set reports what it lists.
(judge.folder / "folder.toml").write_text("""
[stage.items]
use = "dataset.folder"
root = "wardrobe/img"
items = "folder"
""" + REST.replace('split = "query"\n', ""))
judge.run("folder.toml", "of_folder", "--set", "schedule.epochs=2")
(judge.folder / "of_folder/checkpoints/epoch-2.safetensors").unlink()  # as if it had been interrupted
added = images[0].with_name("added.jpg")
shutil.copy(judge.folder / images[0], judge.folder / added)
judge.refused("another image in the folder", "the list of stage 'items' has changed", "run", "--resume", "of_folder")
judge.succeed("run", "--from", "of_folder", "--set", "schedule.epochs=3")
(judge.folder / added).unlink()
judge.succeed("run", "--resume", "of_folder")
same = judge.succeed("eval", "of_folder", "--run-dir", "evaluated_folder")
judge.check("an evaluation of the same images", "has changed" in same.stderr, False)
shutil.copy(judge.folder / images[0], judge.folder / added)
grown = judge.succeed("eval", "of_folder", "--run-dir", "evaluated_grown")
judge.check("an evaluation of another image", "the list of stage 'query_items' has changed" in grown.stderr, True)

shutil.rmtree(judge.folder / "wardrobe")
again = judge.succeed("run", "counted.toml", "--run-dir", "first", "--resume-if-present")
judge.check("a complete run needs no data", "nothing left to do" in again.stderr, True)

judge.end()
