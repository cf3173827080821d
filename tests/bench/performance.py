"""Runs all short benchmarks, or those that are named, and writes docs/performance.md. Called by `scripts/bench all`.

    performance.py [--turns N] [NAME ...]

Each benchmark's last lines are `NAME ratio=R ...`; the table has a row for each peer in them, the slowest of Seam's first.
Each kind of machine has its own table, in which the rows of other benchmarks stay. ATEN_CPU_CAPABILITY=avx2 measures
Seam and LibTorch as on a machine without AVX-512.
"""

import argparse
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
NAMES = ("run", "input", "search", "hop", "mining", "routing", "own_routing", "capsule_module_routing", "step",
         "descriptors_step")
TAGS = ("file", "network", "precision")
UNITS = {"images_per_second": "images/s", "seconds": "s", "ms": "ms", "ns": "ns"}
PEERS = {"direct": "LibTorch, directly", "peer": "PyTorch", "pytorch": "PyTorch", "strongest": "PyTorch, channels last",
         "compiled": "torch.compile", "loader": "DataLoader", "dali": "DALI", "spdl": "SPDL", "turboloader": "TurboLoader",
         "faiss": "FAISS", "tbb": "bare oneTBB", "libtorch": "LibTorch"}


def rows_of(line):
    """[(ratio, what, Seam's figure, peer, its figure)] of a benchmark's last line, for each of its peers."""
    name, *words = line.split()
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    what = ", ".join([f"`{name}`", *(pairs[tag] for tag in TAGS if tag in pairs)])
    unit = next(unit for unit in UNITS if f"seam_{unit}" in pairs)
    ours = pairs[f"seam_{unit}"]
    found = []
    for peer, label in PEERS.items():
        theirs = pairs.get(f"{peer}_{unit}")
        if theirs is not None:
            quotient = float(ours) / float(theirs)
            found.append((quotient if unit == "images_per_second" else 1 / quotient, what, f"{ours} {UNITS[unit]}", label,
                          f"{theirs} {UNITS[unit]}"))
    return found


def machine():
    information = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", information)
    limit = os.environ.get("ATEN_CPU_CAPABILITY", "avx512")
    sets = [name for flag, name in (("avx512", "AVX-512"), ("avx2", "AVX2"))
            if flag in information and limit in ("avx512", flag)]
    return ", ".join([model.group(1) if model else platform.machine(), f"{os.cpu_count()} hardware threads", *sets[:1]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--turns", default="1")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(NAMES)}")
    rows = []
    for name in options.names:
        done = subprocess.run([ROOT / "scripts" / "bench", name, "--turns", options.turns], stdout=subprocess.PIPE, text=True,
                              check=False)
        print(done.stdout, flush=True)
        if done.returncode != 0:
            sys.exit(f"bench: {name} failed with code {done.returncode}")
        rows += [row for line in done.stdout.splitlines() if re.match(r"\w+ (.* )?ratio=", line) for row in rows_of(line)]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.strip()
    before, rest = PAGE.read_text().split("<!-- table -->\n")
    old, after = rest.split("<!-- end of table -->\n")
    table = [(ratio, f"| {what} | {ratio:.2f} | {ours} | {peer}: {theirs} | {datetime.date.today()}, {commit} |")
             for ratio, what, ours, peer, theirs in rows]
    tables = {}  # machine: [(ratio, row)]
    for line in old.splitlines():
        if line.startswith("On "):
            rows_there = tables.setdefault(line[len("On "):-len(":")], [])
        elif line.startswith("| `"):
            rows_there.append((float(line.split("|")[2]), line))
    kept = [row for row in tables.get(machine(), []) if row[1].split("`")[1] not in options.names]
    tables[machine()] = table + kept
    text = "\n".join(f"On {name}:\n\n| benchmark | ratio | Seam | peer | date, version |\n|---|---|---|---|---|\n"
                     + "".join(f"{line}\n" for _, line in sorted(rows_there)) for name, rows_there in tables.items())
    PAGE.write_text(before + "<!-- table -->\n" + text + "<!-- end of table -->\n" + after)


main()
