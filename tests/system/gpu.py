#!/usr/bin/env python3
"""Checks on a machine with a GPU what only a GPU can show; scripts/gpu-check calls it.

    gpu.py BUILD_FOLDER

Not part of the tests, because the machines that run them have no GPU.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from judge import metrics, tensors

DEMO = "pipelines/demo.toml"
LIMIT = 600  # seconds for a run
build = pathlib.Path(sys.argv[1]).resolve()
seam = str(build / "bin/seam")
failures = 0


def row(name, outcome, passed=True):
    global failures
    failures += not passed
    print(f"{name:<34} {outcome}{'' if passed else '   FAILED'}", flush=True)


def command_of(folder, *options):
    return [seam, "run", DEMO, "--run-dir", str(folder), "--resume-if-present", "--quiet", *options]


def run(folder, *options):
    """Trains the demo; returns its seconds."""
    begin = time.monotonic()
    command = command_of(folder, *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return time.monotonic() - begin


def recall(folder):
    """Recall@1 and its standard error."""
    score = json.loads((folder / "score.json").read_text())["scores"][0]
    return score["value"], score["standard_error"]


def contents(folder):
    """The metrics, and the tensors of the checkpoints."""
    checkpoints = (folder / "checkpoints").iterdir()
    return metrics(folder), {checkpoint.stem: tensors(folder, checkpoint.stem) for checkpoint in checkpoints}


def interrupted(folder, *options):
    """Stops a run in its fourth epoch and resumes it; returns the exit code of the first part."""
    with subprocess.Popen(command_of(folder, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (folder / "checkpoints/epoch-3.safetensors").exists():
            time.sleep(0.02)
        process.terminate()
        code = process.wait(LIMIT)
    run(folder, *options)
    return code


def check_tests():
    tests = subprocess.run([sys.executable, "scripts/run-tests", str(build), "-R", r"/cuda$|\.OnCuda$"],
                           capture_output=True, text=True)
    lines = tests.stdout.strip().splitlines() or [tests.stderr.strip()]
    if tests.returncode != 0:
        print("\n".join(lines[:-1]))
    row("tests on the GPU", lines[-1], tests.returncode == 0)


def check_demo(work):
    gpu = ["--device", "cuda"]
    cpu, one, many, resumed, bf16 = (work / name for name in ["cpu", "one", "many", "resumed", "bfloat16"])
    on_cpu = run(cpu)
    on_gpu = run(many, *gpu)
    for name, folder, seconds in [("demo on the CPU", cpu, on_cpu), ("demo on the GPU", many, on_gpu)]:
        row(name, "recall@1 {:.3f} ± {:.3f}".format(*recall(folder)) + f", {seconds:.0f} s")
    (a, error_a), (b, error_b) = recall(cpu), recall(many)
    row("  the same score within the error", f"{b - a:+.3f}", abs(b - a) <= 3 * math.hypot(error_a, error_b))
    run(one, *gpu, "--threads", "1")
    same = contents(one) == contents(many)
    row("  with one thread", f"{'the same' if same else 'other'} bytes", same)
    code = interrupted(resumed, *gpu)
    same = contents(resumed) == contents(many)
    row("  interrupted and resumed", f"{'the same' if same else 'other'} bytes, stopped with {code}", same and code == 4)
    seconds = run(bf16, *gpu, "--precision", "bfloat16")
    value, error = recall(bf16)
    row("demo on the GPU in bfloat16", f"recall@1 {value:.3f} ± {error:.3f}, {seconds:.0f} s",
        abs(value - a) <= 3 * math.hypot(error, error_a))


if not os.access(seam, os.X_OK):
    sys.exit(f"{seam} is not built")
doctor = subprocess.run([seam, "doctor"], capture_output=True, text=True)
print(doctor.stdout + doctor.stderr)
if "cuda:0" not in doctor.stdout:
    sys.exit('LibTorch finds no GPU: see nvidia-smi, and "On a GPU" in docs/dependencies.md')
check_tests()
with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    os.environ["SEAM_WARDROBE"] = str(work / "wardrobe")
    run(work / "drawing", "--set", "schedule.epochs=1")  # draws the photographs that the others read
    check_demo(work)
sys.exit(failures > 0)
