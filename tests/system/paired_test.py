"""Models compared query by query: paired_test.py SEAM.

Two learning rates with two seeds each. The mean difference must be that of the files of the runs, which are identical for any
number of threads; runs with files that do not match are rejected by name.
"""

import json
import shutil

from judge import Judge
from report_runs import PIPELINE

judge = Judge()


def compare(runs, *options):
    return judge.call("compare", *runs, "--paired", *options)


def scored(file):
    """Each query's value of none.r@1, by its name."""
    return {line["observation"]: float(line["none.r@1"]) for line in judge.rows(file)}


def mean(values):
    return sum(values) / len(values)


def refused(what, part):
    judge.refused(what, part, "compare", *everything, "--paired", code=3)


folder = judge.folder
(folder / "pipeline.toml").write_text(PIPELINE)
groups = {"1e-4": ["a1", "a2"], "5e-3": ["b1", "b2"]}
for rate, runs in groups.items():
    for seed, out in enumerate(runs, 1):
        judge.run("pipeline.toml", out, "--threads", str(seed), "--set", f"stage.adam.rate={rate}",
                  "--set", f"pipeline.seed={seed}")
judge.run("pipeline.toml", "again", "--threads", "2", "--set", "stage.adam.rate=1e-4", "--set", "pipeline.seed=1")
file = "outcomes/evaluate.recall.csv"
judge.check("bytes with another number of threads", (folder / "again" / file).read_bytes(), (folder / "a1" / file).read_bytes())

everything = [out for runs in groups.values() for out in runs]
compared = judge.succeed("compare", *everything, "--paired", "--json")
best, other = json.loads(compared.stdout)["rankings"][0]["groups"]
queries = [[scored(folder / member["run"] / file) for member in group["runs"]] for group in (best, other)]
names = queries[0][0].keys()
of_group = [{name: mean([seed[name] for seed in seeds]) for name in names} for seeds in queries]
difference = mean([of_group[1][name] - of_group[0][name] for name in names])
found = other["difference"]
judge.check("the mean difference", round(found["mean"], 9), round(difference, 9))
judge.check("the difference of means", round(found["mean"], 9), round(other["mean"] - best["mean"], 9))
judge.check("the observations", found["pairs"], len(names))
judge.check("the clusters, items of the split", found["clusters"], 14)
judge.check("the interval holds the mean", found["low"] <= found["mean"] <= found["high"], True)
turned = json.loads(compare(everything[::-1], "--json").stdout)["rankings"][0]["groups"][1]
judge.check("in another order", turned["difference"], found)
print(compare(everything).stdout)

whole = (folder / "b2" / file).read_text()
lines = whole.splitlines(keepends=True)
for what, text, expected in [
        ("an earlier epoch", whole.replace("\n1,", "\n0,"), "it is from epoch 1, but the value of none.r@1 is from epoch 2"),
        ("a doubled query", whole + lines[-1], "occurs twice"),
        ("half a line", whole[:-3], "the last line is incomplete")]:
    (folder / "b2" / file).write_text(text)
    refused(what, expected)
(folder / "b2" / file).write_text("".join([lines[0], lines[1].replace(".txt:", ".txt:9999", 1), *lines[2:]]))
refused("another query", "cannot be paired: only 'b")
shutil.rmtree(folder / "b2/outcomes")
refused("no file", f"/b2/{file}', which should hold the score of each observation")

judge.end()
