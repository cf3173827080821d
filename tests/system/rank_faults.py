"""Injects faults into runs by several ranks and prints the outcomes as a table: rank_faults.py SEAM.

Exits with 1 if a job does not end, ends without an error, or its resumed run has other metrics or weights.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

from judge import Judge
from lane_pipelines import LONG
from launched_ranks import LaunchedRanks, lanes

judge = Judge()
launched = LaunchedRanks(judge)
(judge.folder / "long.toml").write_text(LONG)
print("| fault | what was printed | exit | seconds until the end | resumed by | results |")
print("|---|---|---|---|---|---|", flush=True)


def resumed(out, ranks):
    """Whether `ranks` ranks complete the run with the results of a whole one."""
    code, errors = launched.end(launched.start(ranks, "run", "long.toml", "--run-dir", out, "--resume-if-present", *lanes(4)))
    judge.check(f"{out}, resumed\n{errors}\n", code, 0)
    return code == 0 and judge.results(out) == whole


def row(fault, program, began, said, code=None, out=None, ranks=1):
    """`said`: what the output must match; `code`: None for any but 0; `out`: the run to resume."""
    found, errors = launched.end(program, 700)
    seconds = time.monotonic() - began
    match = re.search(said, errors)
    judge.holds(match, f"{fault}: {said!r} is not in the output:\n{errors}")
    judge.holds(found not in (0, "no end") if code is None else found == code, f"{fault}: exit code {found}\n{errors}")
    same = resumed(out, ranks) if out else None
    judge.holds(same is not False, f"{fault}: the resumed run has other results")
    text = " ".join(match.group(0).split()).replace("|", "\\|") if match else "?"
    text = text or "-"
    outcome = "-" if same is None else "identical" if same else "differ"
    print(f"| {fault} | {text} | {found} | {seconds:.1f} | {f'{ranks} of 2' if out else '-'} | {outcome} |", flush=True)


def running(out, *more, **variables):
    """A run by two ranks that is in the middle of a flow."""
    program = launched.start(2, "run", "long.toml", "--run-dir", str(judge.folder / out), *lanes(4), *more, **variables)
    launched.wait_for(out, f"{out}/checkpoints/*-step-*.safetensors", program)
    return program, time.monotonic()


judge.run("long.toml", "whole", "--threads", "1", "--set", "pipeline.lanes=4")
whole = judge.results("whole")
began = time.monotonic()
launched.end(launched.start(2, "run", "long.toml", "--run-dir", "undisturbed", *lanes(4)))
length = time.monotonic() - began
numbers = random.Random(1)
longest = same = ended = 0
for moment in range(20):
    out = f"killed-{moment}"
    program = launched.start(2, "run", "long.toml", "--run-dir", out, *lanes(4))
    time.sleep(numbers.uniform(0, length))
    began = time.monotonic()
    try:
        os.kill(launched.pid(moment % 2), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):  # not yet started, or done
        ended += 1
    code, errors = launched.end(program, 60)
    longest = max(longest, time.monotonic() - began)
    summary = judge.folder / out / "summary.json"
    complete = summary.exists() and json.loads(summary.read_text())["complete"]
    judge.holds(code != "no end" and (code != 0 or complete), f"{out}: exit code {code}\n{errors}")
    same += resumed(out, 1 + moment % 3)
judge.check("killed runs with the results of a whole one", same, 20)
print(f"| SIGKILL of rank 0 or 1 at 20 moments, in {ended} of them without effect | - | - | at most {longest:.1f} | 1, 2 or 3 | "
      f"{same} of 20 identical |", flush=True)

program, began = running("terminated")
program.terminate()
row("SIGTERM to mpirun", program, began, r"", out="terminated", ranks=2)
program, began = running("asked")
os.kill(program.pid, signal.SIGUSR1)
row("SIGUSR1 to mpirun", program, began, r"stopped on request .*", 4, "asked", 2)
copied = judge.folder / "changed/bin/seam"
copied.parent.mkdir(parents=True)
shutil.copy(judge.seam, copied)
with copied.open("ab") as file:
    file.write(b"another build")
(judge.folder / "changed/lib").symlink_to(judge.seam.parent.parent / "lib")
began = time.monotonic()
row("another program on rank 1", launched.start(2, "run", "long.toml", *lanes(4), SEAM_OF_1=str(copied)), began,
    r"SHA-256 of the program: .* on rank 1", 2)

pictures = sorted((launched.copy_for_rank_1("exchanged", "long.toml") / "wardrobe/img").rglob("*.jpg"))
for one, other in zip(pictures[::2], pictures[1::2]):
    one.write_bytes(other.read_bytes())
began = time.monotonic()
program = launched.start(2, "run", "long.toml", "--run-dir", str(judge.folder / "images"), *lanes(4), FOLDER_OF_1="exchanged")
row("other images on rank 1", program, began, r"the ranks do not compute the same.*", 3, "images", 2)

picture = sorted((launched.copy_for_rank_1("damaged", "long.toml") / "wardrobe/img").rglob("*.jpg"))[105]
picture.write_bytes(picture.read_bytes()[:300])
for name, on_error in (("fails", '"fail"'), ("skips", '"skip"'), ("retries", "{retry=2}")):
    began = time.monotonic()
    program = launched.start(2, "run", "long.toml", "--run-dir", str(judge.folder / name), *lanes(4), "--set",
                             f"'stage.decode.on_error={on_error}'", FOLDER_OF_1="damaged")
    said = r"the ranks do not compute the same.*" if name == "skips" else r"rank 1 failed: .*"
    row(f"a damaged image on rank 1, `on_error = {on_error}`", program, began, said, 3)

small = judge.folder / "small"
small.mkdir()
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(small)], stderr=subprocess.DEVNULL, check=False).returncode == 0:
    try:
        began = time.monotonic()
        program = launched.start(2, "run", "long.toml", "--run-dir", "small/run", *lanes(4))
        row("a full disk on rank 0 (tmpfs of 128 KiB)", program, began, r"error: .*No space left on device.*", 3)
        subprocess.run(["mount", "-o", "remount,size=512m", str(small)], check=True)
        judge.holds(resumed("small/run", 2), "after a full disk: other results")
        shutil.rmtree(small / "run")
        subprocess.run(["mount", "-o", "remount,size=8k", str(small)], check=True)
        began = time.monotonic()
        program = launched.start(2, "run", "long.toml", "--run-dir", "beside", *lanes(4), TMPDIR_OF_1=str(small))
        row("a full temporary folder on rank 1", program, began, r"rank 1 failed: .*No space left on device.*", 3)
    finally:
        subprocess.run(["umount", str(small)], check=True)
else:
    print("| a full disk | not tried: mounting a tmpfs needs root | | | | |")

program, began = running("still")
os.kill(launched.pid(1), signal.SIGSTOP)
row("SIGSTOP of rank 1", program, began, r"rank 0 .*has not answered for 600 s.*", out="still", ranks=2)
judge.end()
