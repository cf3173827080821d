"""Jobs under schedulers: schedulers_test.py SEAM PLUGINS PAGE.

For each row of the page's table, a stand-in for the scheduler starts the page's command, sends each signal of the row in the
middle of the run and, if the exit code is the row's, starts the same command again. The run must be complete in the end, with the
metrics of a run that was never stopped, and the code must be in the text that makes the scheduler restart the job.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys

from judge import Judge

PIPELINE = """
[stage.numbers]
use = "test.count"
n = 40
[stage.add]
use = "test.add"
amount = 3
chance = 100
[stage.total]
use = "test.total"
"""
GATE = """
[stage.gate{0}]
use = "test.gate"
folder = "gate"
epoch = {0}
"""
EPOCHS = 4

judge = Judge()
folder = judge.folder
plugins, page = (pathlib.Path(argument).resolve() for argument in sys.argv[2:4])
command = re.search(r"^seam (run FILE .*)$", page.read_text(), re.MULTILINE)[1].split()
rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in page.read_text().splitlines()
        if re.match(r"\| [^|]+ \| [A-Z0-9, ]+ \| \d+ \|", line)]


def start(name, code):
    chosen = [{"FILE": "job.toml", "DIR": name, "99": code}.get(word, word) for word in command]
    return subprocess.Popen([judge.seam, *chosen, "--plugin-path", plugins], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, env=os.environ)


def stop_at_gate(job, number):
    """Sends the signal while a stage waits at the gate, and opens the gate when the run has noticed the signal."""
    with open(folder / "gate/reached", "rb"):
        pass
    job.send_signal(number)
    for line in job.stderr:
        if "stopping" in line:
            break
    with open(folder / "gate/go", "wb"):
        pass


judge.check("schedulers", len(rows), 6)
gates = range(1, EPOCHS)
(folder / "job.toml").write_text(PIPELINE + "".join(GATE.format(epoch) for epoch in gates) + f"""
[flow]
train = "numbers -> {' -> '.join(f'gate{epoch}' for epoch in gates)} -> add -> total"
[schedule]
epochs = {EPOCHS}
""")
whole = start("whole", "4")
whole.communicate()
judge.check("exit code without a scheduler", whole.returncode, 0)
for scheduler, signals, code, restarts in rows:
    judge.check(f"{scheduler}: {code} in {restarts!r}", code in restarts, True)
    (folder / "gate").mkdir()
    os.mkfifo(folder / "gate/reached")
    os.mkfifo(folder / "gate/go")
    for number in signals.split(", "):
        job = start(scheduler, code)
        stop_at_gate(job, getattr(signal, "SIG" + number))
        job.communicate()
        judge.check(f"{scheduler}: exit code after {number}", job.returncode, int(code))
    for fifo in ("reached", "go"):
        (folder / "gate" / fifo).unlink()
    (folder / "gate").rmdir()
    job = start(scheduler, code)
    job.communicate()
    judge.check(f"{scheduler}: exit code in the end", job.returncode, 0)
    judge.check(f"{scheduler}: metrics", (folder / scheduler / "metrics.jsonl").read_text(),
          (folder / "whole/metrics.jsonl").read_text())
    again = start(scheduler, code)
    judge.check(f"{scheduler}: a complete run says so", "nothing left to do" in again.communicate()[1], True)
    judge.check(f"{scheduler}: exit code of a complete run", again.returncode, 0)

print(f"{len(rows)} schedulers")
judge.end()
