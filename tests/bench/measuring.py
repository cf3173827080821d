"""Shared by compare.py and against.py: runs programs in turns.

Every program, ours and theirs, prints lines `NAME key=value ...`; the last such line counts.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(name, command, folder):
    """The key=value pairs of the last line that starts with the name."""
    done = subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE,
                          text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith(name + " ")]
    if done.returncode != 0 or not lines:
        sys.exit(f"bench: {' '.join(map(str, command))}: "
                 f"exit {done.returncode}, printed {done.stdout[-2000:]!r}")
    print("  " + lines[-1], flush=True)
    return {key: float(value) for key, value in re.findall(r"(\w+)=([-+.\deE]+)(?=\s|$)", lines[-1])}


def seam_training(tree, build, file, *changes, launcher=(), threads=2, read=None):
    """Trains a pipeline file of the source tree without its evaluations; images per second of the last epoch, and what
    `read` finds in the run folder."""
    with tempfile.TemporaryDirectory() as folder:
        train_only = ["schedule.before=[]", "schedule.floors=[]", "schedule.after=[]", 'schedule.each_epoch=["train"]']
        options = [word for change in (*train_only, *changes) for word in ("--set", change)]
        command = [*launcher, build / "bin" / "seam", "run", tree / "pipelines" / file, "--run-dir", f"{folder}/run",
                   "--threads", threads]
        done = subprocess.run([*map(str, command), *options], cwd=tree, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bench: seam run {file}: exit {done.returncode}\n{done.stderr}")
        lines = pathlib.Path(folder, "run", "timing.jsonl").read_text().splitlines()
        more = read(pathlib.Path(folder, "run")) if read else {}
    speed = [json.loads(line) for line in lines][-1]["images_per_second"]
    print(f"  run images_per_second={speed:.1f}", flush=True)
    return {"images_per_second": speed, **more}


def values_in_turns(turns, sides):
    """[value of each turn] by side and key; sides: {label: function that measures once}. Every other turn is in reverse order,
    so that a machine whose speed drifts favours neither side."""
    seen = {label: {} for label in sides}
    for turn in range(turns):
        for label in reversed(sides) if turn % 2 else sides:
            print(f"turn {turn + 1} of {turns}, {label}:", flush=True)
            for key, value in sides[label]().items():
                seen[label].setdefault(key, []).append(value)
    return seen
