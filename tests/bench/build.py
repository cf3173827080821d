#!/usr/bin/env python3
"""Measures the first build: the README's two commands on a fresh clone, with an empty compiler cache.

    build.py [--no-tests] [--folder FOLDER]

Prints wall and CPU seconds of each step, job seconds by source folder, and the twenty slowest jobs, as the
tables of docs/development.md. System packages and LibTorch's wheel are counted only if they are missing.
Nothing else should run on the machine.
"""

import argparse
import collections
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(name, command, clone, environment):
    """Runs one step; returns its row."""
    wall, cpu = time.monotonic(), cpu_seconds()
    run = subprocess.run(command, cwd=clone, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{name}: {' '.join(command)} ended with {run.returncode}\n{run.stdout[-4000:]}{run.stderr[-4000:]}")
    return name, time.monotonic() - wall, cpu_seconds() - cpu


def jobs_of(build):
    """{output: seconds} of the last time that ninja built each output."""
    jobs = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        jobs[output] = (int(end) - int(start)) / 1000
    return jobs


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--no-tests", action="store_true", help="stop after the demo")
    parser.add_argument("--folder", type=pathlib.Path, help="folder for the clone; default: a temporary folder")
    options = parser.parse_args()
    temporary = None if options.folder else tempfile.TemporaryDirectory(prefix="seam-build-")
    clone = (options.folder or pathlib.Path(temporary.name)) / "seam"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    environment = os.environ | {"CCACHE_DIR": str(clone.parent / "ccache")}

    steps = [measured("scripts/setup", ["scripts/setup"], clone, environment),
             measured("scripts/demo", ["scripts/demo"], clone, environment)]
    if not options.no_tests:
        steps.append(measured("scripts/test", ["scripts/test"], clone, environment))
    print("| step | wall s | CPU s |\n|---|---|---|")
    for name, wall, cpu in steps:
        print(f"| `{name}` | {wall:.0f} | {cpu:.0f} |")

    build = next((clone / "build").glob("release*/.ninja_log")).parent
    jobs = jobs_of(build)
    folders = collections.Counter()
    for output, seconds in jobs.items():
        folders["/".join(output.split("/CMakeFiles/")[0].split("/")[:2]) if "/CMakeFiles/" in output else "links"] += seconds
    print(f"\n{sum(output.endswith('.o') for output in jobs)} objects\n\n| folder | job s |\n|---|---|")
    for folder, seconds in folders.most_common():
        print(f"| {folder} | {seconds:.0f} |")
    print("\n| slowest jobs | s |\n|---|---|")
    for output, seconds in collections.Counter(jobs).most_common(20):
        print(f"| {output.replace('CMakeFiles/', '')} | {seconds:.1f} |")


main()
