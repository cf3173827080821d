"""Keys of everything that `seam` prints or writes as JSON: json_keys_test.py SEAM [--update].

golden_json/NAME.keys lists the paths of all keys, one per line: `groups[].mean` is `mean` in each object of the list `groups`,
and `*` stands for a key that is a name chosen by the user. docs/compatibility.md guarantees that no key is removed, so a
missing key fails the test. So does a key that the file does not list: --update adds it, and never removes any.
"""

import json
import pathlib
import re
import sys

from judge import FLOWS, NETWORK, QUERIES, RETRIEVAL, WARDROBE, Judge

PIPELINE = WARDROBE + NETWORK + RETRIEVAL + QUERIES + """
on_error = "skip"
[pipeline]
name = "keys"
""" + FLOWS + """
[schedule]
epochs = 1
keep = { best = "recall.none.r@1", last = 1 }
"""
SHARDED = WARDROBE + NETWORK + """
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
[stage.embeddings]
use = "export.embeddings"
[flow]
embed = "items -> decode -> batch -> model -> embeddings"
[schedule]
epochs = 1
"""
FAULTY = '[stage.items]\nuse = "dataset.wardrob"\nroot = "w"\n[flow]\nmain = "items -> nothing"\n'

# Objects whose keys are names of stages, parameters, metrics or reasons, by the path of their keys.
NAMES = {
    "compare": ["rankings[].groups[].parameters.*", "rankings[].groups[].runs[].replicate.*"],
    "compare-paired": ["rankings[].groups[].parameters.*", "rankings[].groups[].runs[].replicate.*"],
    "runs": ["[].changed.*"],
    "summary": ["metrics.*", "flows[].stages[].dropped.*", "files.*", "listings.*"],
}

GOLDEN = pathlib.Path(__file__).parent / "golden_json"


def paths(value, names, before=""):
    """The paths of all keys in a value."""
    if isinstance(value, list):
        return set().union(*(paths(one, names, before + "[]") for one in value))
    if not isinstance(value, dict):
        return set()
    found = set()
    point = "." if before else ""
    for key, inner in value.items():
        path = f"{before}{point}*" if f"{before}{point}*" in names else f"{before}{point}{key}"
        found |= {path} | paths(inner, names, path)
    # A network is a tree of parts that have parts.
    return {re.sub(r"(\.parts\[\])+", ".parts[]", path) for path in found}


def values(text):
    """One value, or one on each line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def main():
    judge = Judge()
    folder = judge.folder
    update = sys.argv[2:] == ["--update"]
    texts = {}

    (folder / "pipeline.toml").write_text(PIPELINE)
    (folder / "faulty.toml").write_text(FAULTY)

    def print_json(golden, *arguments, codes=(0,)):
        ran = judge.call(*arguments)
        if ran.returncode not in codes:
            sys.exit(f"seam {' '.join(arguments)}: exit code {ran.returncode}\n{ran.stderr}")
        texts.setdefault(golden, []).append(ran.stdout)

    def run(out, *more):
        print_json("-", "run", "pipeline.toml", "--run-dir", out, "--threads", "2", *more)

    for seed in (1, 2):
        run(f"runs/slow-{seed}", "--set", f"pipeline.seed={seed}")
        run(f"runs/fast-{seed}", "--set", f"pipeline.seed={seed}", "--set", "stage.adam.rate=0.01")
    compared = [f"runs/{rate}-{seed}" for rate in ("slow", "fast") for seed in (1, 2)]
    run("runs/chosen", "--set", "stage.model.weights=runs/slow-1")
    sorted((folder / "wardrobe").rglob("*.jpg"))[0].write_bytes(b"no picture")
    run("runs/skips")
    (folder / "sharded.toml").write_text(SHARDED)
    print_json("-", "run", "sharded.toml", "--run-dir", "shards", "--shard", "0/2", "--set", "stage.items.root=sharded")
    texts["summary"] = [(folder / "shards/part-00000-of-00002/summary.json").read_text()]
    print_json("shards", "shards", "shards", "--json", codes=(3,))
    for golden, file in (("score", "score.json"), ("summary", "summary.json"), ("metrics", "metrics.jsonl"),
                         ("timing", "timing.jsonl"), ("skipped", "skipped.jsonl")):
        for path in sorted((folder / "runs").glob(f"*/{file}")):
            texts.setdefault(golden, []).append(path.read_text())
    print_json("runs", "runs", "runs", "--json")
    print_json("compare", "compare", *compared, "--json")
    print_json("compare", "compare", *compared, "--json", "--metric", "recall.none.r@1", "--metric", "recall.none.r@5")
    print_json("progress", "run", "pipeline.toml", "--run-dir", "progress", "--json")
    print_json("compare-paired", "compare", *compared, "--paired", "--json")
    print_json("check", "check", "faulty.toml", "--json", codes=(2,))
    print_json("plugins", "plugins", "--json")
    print_json("inspect", "inspect", "sampling.triplets", "--json")
    print_json("inspect", "inspect", "model.sccapsnet", "--set", "classes=14", "--json")
    print_json("inspect", "inspect", "pipeline.toml", "search", "--json")
    print_json("inspect-field", "inspect", "embedding", "--json")

    del texts["-"]
    GOLDEN.mkdir(exist_ok=True)
    for golden, written in sorted(texts.items()):
        found = set()
        for text in written:
            for value in values(text):
                found |= paths(value, NAMES.get(golden, []))
        file = GOLDEN / f"{golden}.keys"
        known = set(file.read_text().split("\n")) - {""} if file.exists() else set()
        judge.failures += [f"{file.name}: '{path}' is gone" for path in sorted(known - found)]
        if update:
            file.write_text("".join(f"{path}\n" for path in sorted(known | found)))
        else:
            judge.failures += [f"{file.name}: '{path}' is new; `json_keys_test.py SEAM --update` adds it"
                         for path in sorted(found - known)]
    judge.failures += [f"{file.name}: nothing writes this any more" for file in GOLDEN.glob("*.keys") if file.stem not in texts]
    judge.end()


main()
