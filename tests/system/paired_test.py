"""Models compared query by query: paired_test.py SEAM.

Two learning rates with two seeds each. The mean difference must be that of the files of the runs, which are identical for any
number of threads; runs with files that do not match are rejected by name.
"""

import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from report_runs import PIPELINE
from runs import run

seam = pathlib.Path(sys.argv[1]).resolve()
failures = []


def check(what, found, expected):
    if found != expected:
        failures.append(f"{what}: {found!r} instead of {expected!r}")


def compare(folder, runs, *options):
    return subprocess.run([seam, "compare", *runs, "--paired", *options], cwd=folder, capture_output=True, text=True, check=False)


def scored(file):
    """Each query's value of none.r@1, by its name."""
    with open(file, newline="") as lines:
        return {line["observation"]: float(line["none.r@1"]) for line in csv.DictReader(lines)}


def mean(values):
    return sum(values) / len(values)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "pipeline.toml").write_text(PIPELINE)
    groups = {"1e-4": ["a1", "a2"], "5e-3": ["b1", "b2"]}
    for rate, runs in groups.items():
        for seed, out in enumerate(runs, 1):
            run(seam, folder, "pipeline.toml", out, "--threads", str(seed), "--set", f"stage.adam.rate={rate}",
                "--set", f"pipeline.seed={seed}")
    run(seam, folder, "pipeline.toml", "again", "--threads", "2", "--set", "stage.adam.rate=1e-4", "--set", "pipeline.seed=1")
    file = "outcomes/evaluate.recall.csv"
    check("bytes with another number of threads", (folder / "again" / file).read_bytes(), (folder / "a1" / file).read_bytes())

    everything = [out for runs in groups.values() for out in runs]
    compared = compare(folder, everything, "--json")
    if compared.returncode != 0:
        sys.exit(compared.stderr)
    best, other = json.loads(compared.stdout)["rankings"][0]["groups"]
    queries = [[scored(folder / member["run"] / file) for member in group["runs"]] for group in (best, other)]
    names = queries[0][0].keys()
    of_group = [{name: mean([seed[name] for seed in seeds]) for name in names} for seeds in queries]
    difference = mean([of_group[1][name] - of_group[0][name] for name in names])
    found = other["difference"]
    check("the mean difference", round(found["mean"], 9), round(difference, 9))
    check("the difference of means", round(found["mean"], 9), round(other["mean"] - best["mean"], 9))
    check("the observations", found["pairs"], len(names))
    check("the clusters, items of the split", found["clusters"], 14)
    check("the interval holds the mean", found["low"] <= found["mean"] <= found["high"], True)
    turned = json.loads(compare(folder, everything[::-1], "--json").stdout)["rankings"][0]["groups"][1]
    check("in another order", turned["difference"], found)
    print(compare(folder, everything).stdout)

    whole = (folder / "b2" / file).read_text()
    lines = whole.splitlines(keepends=True)
    for what, text, expected in [
            ("an earlier epoch", whole.replace("\n1,", "\n0,"), "it is from epoch 1, but the value of none.r@1 is from epoch 2"),
            ("a doubled query", whole + lines[-1], "occurs twice"),
            ("half a line", whole[:-3], "the last line is incomplete")]:
        (folder / "b2" / file).write_text(text)
        refused = compare(folder, everything)
        check(f"{what}: exit code", refused.returncode, 3)
        check(f"{what}: {refused.stderr}", expected in refused.stderr, True)
    (folder / "b2" / file).write_text("".join([lines[0], lines[1].replace(".txt:", ".txt:9999", 1), *lines[2:]]))
    refused = compare(folder, everything)
    check("another query: exit code", refused.returncode, 3)
    check(f"another query: {refused.stderr}", "cannot be paired: only 'b" in refused.stderr, True)
    shutil.rmtree(folder / "b2/outcomes")
    refused = compare(folder, everything)
    check("no file: exit code", refused.returncode, 3)
    check(f"no file: {refused.stderr}", f"/b2/{file}', which should hold the score of each observation" in refused.stderr, True)

print("\n".join(failures))
sys.exit(1 if failures else 0)
