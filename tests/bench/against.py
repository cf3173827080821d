"""Is this version slower than another one? Called by `scripts/bench against`.

The other version is checked out and built in build/against, which stays for the next time.
"""

import argparse
import functools
import os
import pathlib
import re
import statistics
import subprocess
import sys
from typing import NamedTuple

from measuring import ROOT, run, seam_training, values_in_turns

TREE = ROOT / "build" / "against"
LIMIT = 1.1


class Benchmark(NamedTuple):
    key: str  # Seam's figure: a rate if its name has "per_second", otherwise a time
    program: str = ""  # with the options of the short form
    training: tuple = ()  # or a pipeline file that `seam run` trains, with changes to it

    @property
    def target(self):
        return self.program.split()[0] if self.program else "seam_programs"


HOP = "hop_bench --turns 3 --packets 100000"
BENCHMARKS = {
    "hop": Benchmark("seam_ns", HOP),
    "hop_parallel": Benchmark("seam_ns", HOP),
    "routing": Benchmark("seam_ms", "routing_bench --network capsule_module"),
    "search": Benchmark("seconds", "search_bench"),
    "mining": Benchmark("seam_seconds", "mining_bench"),
    "demo": Benchmark("images_per_second", training=("demo.toml", "schedule.epochs=3")),
    "run": Benchmark("images_per_second", training=("inshop-embedding.toml", "schedule.epochs=2")),
}


def check_out(commit):
    """Brings build/against to the commit; returns the commit's short name."""
    found = subprocess.run(["git", "rev-parse", "--short", "--verify", "--quiet", f"{commit}^{{commit}}"], cwd=ROOT,
                           capture_output=True, text=True, check=False)
    if found.returncode != 0:
        sys.exit(f"bench: '{commit}' is not a commit of this repository; a shallow clone lacks older ones")
    name = found.stdout.strip()
    if (TREE / ".git").exists():
        subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", name], cwd=TREE, check=True)
    else:
        subprocess.run(["git", "worktree", "add", "--quiet", "--force", "--detach", TREE, name], cwd=ROOT, check=True)
    return name


def configure(build):
    """With the options, compiler and LibTorch of this version's build folder."""
    wheel = TREE / "build" / "libtorch-wheel"
    wheel.parent.mkdir(exist_ok=True)
    if not wheel.is_symlink():
        wheel.symlink_to(ROOT / "build" / "libtorch-wheel")
    subprocess.run([TREE / "scripts" / "setup"], check=True, stdout=subprocess.DEVNULL)  # that version's packages
    wanted = r"^(?:SEAM_\w+|CMAKE_BUILD_TYPE|CMAKE_CXX_COMPILER|CMAKE_CXX_FLAGS\w*):(?!INTERNAL)\w+=.*"
    options = re.findall(wanted, (ROOT / build / "CMakeCache.txt").read_text(), re.MULTILINE)
    (TREE / build / "CMakeCache.txt").unlink(missing_ok=True)  # it may have others from an earlier time
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", TREE, "-B", TREE / build, *(f"-D{option}" for option in options)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {TREE} cannot be configured:\n{done.stdout}{done.stderr}")


def side(name, folder):
    """Builds one benchmark of one version; returns a function that measures it once."""
    benchmark, tree = BENCHMARKS[name], folder.parents[1]
    print(f"{name}: building {benchmark.target} in {folder.relative_to(ROOT)}", flush=True)
    done = subprocess.run(["cmake", "--build", folder, "--target", benchmark.target], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {folder} cannot build {benchmark.target}:\n{done.stdout[-4000:]}{done.stderr}")
    if benchmark.training:
        return functools.partial(seam_training, tree, folder, *benchmark.training)
    return functools.partial(run, name, [folder / "bench" / benchmark.target, *benchmark.program.split()[1:]], tree)


class Compared(NamedTuple):
    before: float
    now: float
    ratio: float  # of the medians; above 1, this version is faster
    slower: bool


def compared(name, sides, turns):
    """The medians of both versions. This one is slower only if the best turns agree: other programs on the machine can slow
    down most turns of one side, but speed up none."""
    key = BENCHMARKS[name].key
    before, now = (keys[key] for keys in values_in_turns(turns, sides).values())
    best = max if "per_second" in key else min
    ratios = [find(now) / find(before) if best is max else find(before) / find(now) for find in (statistics.median, best)]
    return Compared(statistics.median(before), statistics.median(now), ratios[0], max(ratios) < 1 / LIMIT)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    options = parser.parse_intermixed_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(BENCHMARKS)}")
    photographs = pathlib.Path(os.environ.get("SEAM_TEST_DATA", "nowhere"), "deepfashion-inshop")
    names = options.names or ["hop", "hop_parallel", "routing", "search", "demo", *(["run"] if photographs.is_dir() else [])]
    if photographs.is_dir():
        os.environ["DEEPFASHION"] = str(photographs)
    commit = check_out(options.commit)
    configure(options.build)
    rows, slower = [], []
    for name in names:
        now = side(name, ROOT / options.build)
        try:
            before = side(name, TREE / options.build)
            if BENCHMARKS[name].key not in before():  # also reads files and libraries for the first time
                sys.exit(f"bench: {name} of {commit} does not print {BENCHMARKS[name].key}")
        except SystemExit as failed:  # this version may have added or repaired the benchmark
            print(failed, flush=True)
            rows.append(f"| {name} | cannot be measured | | |")
            continue
        sides = {commit: before, "this version": now}
        found = compared(name, sides, options.turns)
        if found.slower:
            print(f"{name} is slower; measuring it again", flush=True)
            found = compared(name, sides, options.turns)
            if found.slower:
                slower.append(f"bench: {name} is slower than in {commit}: ratio {found.ratio:.2f}, measured twice")
        rows.append(f"| {name}, {BENCHMARKS[name].key} | {found.before:.4g} | {found.now:.4g} | {found.ratio:.2f} |")
    print("\n".join([f"| benchmark | {commit} | this version | ratio |", "|---|---|---|---|", *rows]), flush=True)
    if slower:
        sys.exit("\n".join(slower))
    if all("cannot be measured" in row for row in rows):
        sys.exit(f"bench: no benchmark of {commit} can be measured")


main()
