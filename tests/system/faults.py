"""Injects faults into the real program and prints a table of the outcomes. Called by scripts/faults."""

import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
SEAM = BUILD / "bin" / "seam"
PLUGINS = BUILD / "tests" / "plugins" / "system"
HERE = pathlib.Path(__file__).parent

COUNTING = (HERE / "counting.toml").read_text().replace("n = 40\n", "n = 400\n")

LISTENING = """
[stage.calls]
use = "test.listen"

[stage.total]
use = "test.total"

[flow]
main = "calls -> total"
"""

TRAINING = (HERE / "training.toml").read_text()
for small, large in (("items = 28", "items = 56"), ("views = 2", "views = 3"), ("size = 32", "size = 48"), (" digest ->", ""),
                     ("epochs = 3", "epochs = 8")):
    assert small in TRAINING, small
    TRAINING = TRAINING.replace(small, large)


class Run:
    """A process of the program in a folder, and its output."""

    def __init__(self, folder, arguments):
        self.folder = folder
        self.arguments = [str(argument) for argument in arguments]
        environment = {key: value for key, value in os.environ.items() if key != "SEAM_PLUGIN_PATH"}
        self.process = subprocess.Popen([SEAM, *self.arguments], cwd=folder, env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace")
        self.text = ""

    def read_until(self, text):
        while text not in self.text:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"{text!r} did not appear in {self.text}")
            self.text += line

    def end(self):
        self.text += self.process.communicate()[0]
        return self

    @property
    def code(self):
        return self.process.returncode

    @property
    def command(self):
        shown = [word.replace(str(PLUGINS), "PLUGINS") for word in self.arguments]
        return "seam " + " ".join(shown)


class Table:
    def __init__(self):
        self.wrong = []
        print("| fault | command | what was printed | exit | ledger | resumed metrics |")
        print("|---|---|---|---|---|---|", flush=True)

    def row(self, fault, run, said, code, ledger="-", resumed="-"):
        """`said`: a pattern that the output must match; `resumed`: whether metrics were identical."""
        found = re.search(said, run.text)
        if not found:
            self.wrong.append(f"{fault}: {said!r} is not in the output:\n{run.text}")
        if run.code != code:
            self.wrong.append(f"{fault}: exit code {run.code}, not {code}\n{run.text}")
        if resumed == "differ":
            self.wrong.append(f"{fault}: the metrics differ")
        shown = " ".join(found.group(0).split()) if found else "?"
        shown = shown.replace("|", "\\|")
        print(f"| {fault} | `{run.command}` | {shown} | {run.code} | {ledger} | {resumed} |",
              flush=True)


def ledger_of(run):
    discarded = re.search(r"every packet is accounted for; ([\d,]+) in flight", run.text)
    if discarded:
        return f"balances, {discarded[1]} discarded"
    if "every packet is accounted for" in run.text:
        return "balances"
    return "does not balance" if "does not balance" in run.text else "not read"


class Place:
    """A folder for one fault, with the pipeline and the metrics of an undisturbed run."""

    def __init__(self, root, name, text):
        self.folder = root / name
        self.folder.mkdir()
        (self.folder / "p.toml").write_text(text)

    def run(self, directory, *more, plugins=PLUGINS):
        return Run(self.folder, ["run", "p.toml", "--plugin-path", plugins, "--run-dir", directory,
                                 "--threads", 2, *more])

    def resume(self, directory):
        return Run(self.folder, ["run", "--resume", directory]).end()

    def metrics(self, directory):
        return (self.folder / directory / "metrics.jsonl").read_bytes()

    def same(self, directory, other="whole"):
        """Prints the lines that differ."""
        found, expected = (self.metrics(name).splitlines(keepends=True) for name in (directory, other))
        for one, two in itertools.zip_longest(found, expected, fillvalue=b"nothing"):
            if one != two:
                print(f"{directory}: {one}\n{other}: {two}", flush=True)
        return "identical" if found == expected else "differ"

    def compare(self, directory, more=()):
        """Resumes the run and compares it with an undisturbed one."""
        resumed = self.resume(directory)
        if resumed.code != 0:
            return f"exit {resumed.code}"
        if not (self.folder / "whole").exists():
            assert self.run("whole", *more).end().code == 0
        return self.same(directory)


class Gate:
    """The FIFOs at which test.gate waits in the third epoch."""

    def __init__(self, place):
        self.folder = place.folder / "gate"
        self.folder.mkdir()
        os.mkfifo(self.folder / "reached")
        os.mkfifo(self.folder / "go")

    def wait(self):
        with open(self.folder / "reached", "rb") as fifo:
            fifo.read()

    def open(self):
        with open(self.folder / "go", "wb"):
            pass

    def remove(self):
        shutil.rmtree(self.folder)


def stages_that_fail(table, root):
    place = Place(root, "stages", COUNTING)
    one = place.run("throws", "--set", "stage.fail.at=7").end()
    table.row("a stage throws", one, r"error: this number cannot be read\n.*\n.*\n.*", 3,
              ledger_of(one))
    some = place.run("some", "--set", "stage.fail.every=10", "--set", "stage.fail.on_error=skip").end()
    table.row("it throws on 1 item in 10, skipped", some, r"skipped: .*", 0, ledger_of(some))
    end = place.run("end", "--set", "stage.fail.in=end").end()
    table.row("it throws when the flow has ended", end, r"error: the total cannot be written\n.*", 3,
              ledger_of(end))
    drops = place.run("drops", "--set", "stage.fail.every=10", "--set", "stage.fail.kind=drop").end()
    table.row("10 % drops", drops, r"dropped by fail in train: .*", 0, ledger_of(drops))
    slow = place.run("slow", "--set", "stage.total.delay=2", "--set", "limits.packets=16", "--set",
                     "schedule.epochs=1").end()
    peak = re.search(r'"packets_peak":(\d+)', (place.folder / "slow/summary.json").read_text())
    table.row("a slow sink, room for 16 packets", slow, r"train: .*", 0,
              ledger_of(slow) + f"; {peak.group(1)} packets at most")


MISBEHAVING = COUNTING + """
[stage.misbehave]
use = "test.misbehave"

[stage.mislay]
use = "test.mislay"
"""


def stages_that_misbehave(table, root):
    place = Place(root, "misbehaving", MISBEHAVING)
    for deed, fault in (("changes", "a stage changes a field that it does not declare"),
                        ("adds", "a stage adds a field that it does not declare")):
        run = place.run(deed, "--set", f"stage.misbehave.deed={deed}", "--set",
                        "flow.train=numbers -> gate -> misbehave -> total").end()
        table.row(fault, run, r"error: stage .*", 5, ledger_of(run))
    for loss, fault in (("keeps_all", "a collector loses all packets"),
                        ("sends_and_drops", "a collector emits packets and also drops them")):
        run = place.run(loss, "--set", f"stage.mislay.loss={loss}", "--set",
                        "flow.train=numbers -> gate -> mislay -> total").end()
        table.row(fault, run, r"collector 'mislay' .*", 6, ledger_of(run))


def stages_that_crash(table, root):
    for kind, fault, code in (("null_write", "a stage writes through a null pointer", -11),
                              ("overflow", "a stage runs out of stack", -11),
                              ("bus_error", "a bus error in a stage", -7),
                              ("illegal", "an illegal instruction in a stage", -4),
                              ("arithmetic", "a stage divides by zero", -8),
                              ("crash", "a stage aborts", -6),
                              ("exit", "a stage calls exit(0)", 5),
                              ("quick_exit", "a stage calls quick_exit(0)", 5),
                              ("exit_at_once", "a stage calls _exit(0)", 5),
                              ("thread_exit", "a thread of a stage calls exit(0)", 5)):
        place = Place(root, f"crash-{kind}", COUNTING)
        run = place.run("out", "--set", "stage.fail.at=7", "--set", f"stage.fail.kind={kind}").end()
        table.row(fault, run, r"(crash: .*|error: (stage|a thread) .*)", code)
        summary = json.loads((place.folder / "out/summary.json").read_text())
        if summary["outcome"] != "crashed":
            table.wrong.append(f"{fault}: summary.json says {summary['outcome']}")


def sources_that_block(table, root):
    for hearing, said in (("good", "stopped on request.*"), ("deaf", r"calls  is producing a packet\n.*")):
        place = Place(root, f"source-{hearing}", LISTENING)
        run = place.run("out", "--set", f"stage.calls.hearing={hearing}")
        run.read_until("waiting for a caller")
        run.process.send_signal(signal.SIGTERM)
        if hearing == "deaf":
            run.read_until("stopping")
            time.sleep(0.5)  # earlier it would count as the same request
            run.process.send_signal(signal.SIGINT)
        name = "a blocked source, SIGTERM" if hearing == "good" else (
            "a source that cannot be interrupted, SIGTERM and SIGINT")
        table.row(name, run.end(), said, 4)


def signals(table, root):
    for name, numbers in (("SIGINT once", [signal.SIGINT]), ("SIGTERM", [signal.SIGTERM]),
                          ("SIGINT twice", [signal.SIGINT, signal.SIGINT])):
        place = Place(root, name.replace(" ", "-"), COUNTING)
        gate = Gate(place)
        run = place.run("out", "--set", "stage.numbers.n=4000")
        gate.wait()
        run.process.send_signal(numbers[0])
        run.read_until("stopping")
        if len(numbers) > 1:
            time.sleep(0.5)  # earlier it would count as the same request
            run.process.send_signal(numbers[1])
            run.read_until("cancelling")
        else:
            gate.open()
        run.end()
        gate.remove()
        table.row(name, run, r"stopped on request.*|The process exits now.*", 4, "-",
                  place.compare("out", ("--set", "stage.numbers.n=4000")))


def train_with_kills(place, most, moments, longest):
    """Trains into the folder "out", killing and resuming the run at random moments, at most `most` times; returns the
    last run and the epochs that were done at each kill."""
    shutil.rmtree(place.folder / "out", ignore_errors=True)
    run = place.run("out")
    done = []
    while True:
        try:
            run.process.wait(timeout=moments.uniform(0.05, longest) if len(done) < most else None)
            return run.end(), done
        except subprocess.TimeoutExpired:
            run.process.kill()
            run.end()
            epochs = [int(file.stem[6:]) for file in place.folder.glob("out/checkpoints/epoch-*.safetensors")]
            done.append(max(epochs, default=0))
            if (place.folder / "out/resolved.toml").exists():
                run = Run(place.folder, ["run", "--resume", "out"])
            else:  # killed before the run existed
                shutil.rmtree(place.folder / "out", ignore_errors=True)
                run = place.run("out")


def kills(table, root, most):
    place = Place(root, "kills", TRAINING)
    began = time.monotonic()
    whole = place.run("whole").end()
    assert whole.code == 0, whole.text
    longest = (time.monotonic() - began) / 2
    moments = random.Random(7)
    killed = 0
    while killed < most:  # a quick training can end before it was killed so often
        run, done = train_with_kills(place, most - killed, moments, longest)
        killed += len(done)
        table.row(f"SIGKILL at {len(done)} random moments of a training", run,
                  r"ledger: every packet is accounted for|there is nothing left to do", 0, ledger_of(run),
                  place.same("out"))
        print(f"\n(epochs done at the kills: {', '.join(map(str, done))} of 8)\n", flush=True)


def starts(table, root):
    """A library whose first call is not safe with two threads may spoil the first batch of a process."""
    place = Place(root, "starts", TRAINING)
    found = set()
    for number in range(30):
        run = place.run(str(number), "--set", "stage.triplets.per_epoch=24", "--set", "schedule.epochs=1",
                        "--set", 'schedule.each_epoch=["train"]').end()
        assert run.code == 0, run.text
        found.add(place.same(str(number), "0"))
    table.row("30 starts of the same training", run, r"ledger: .*", 0, ledger_of(run),
              "differ" if "differ" in found else "identical")


def killed_at_gate(place, directory):
    """Kills a run in its third epoch; returns its newest checkpoint."""
    gate = Gate(place)
    run = place.run(directory)
    gate.wait()
    run.process.kill()
    run.end()
    gate.remove()
    return place.folder / directory / "checkpoints/epoch-2.safetensors"


def disks(table, root):
    place = Place(root, "disk", COUNTING)
    small = place.folder / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)],
                             stderr=subprocess.DEVNULL, check=False).returncode == 0
    if mounted:
        try:
            run = place.run("small/out").end()
            subprocess.run(["mount", "-o", "remount,size=16m", str(small)], check=True)
            table.row("a full disk (tmpfs of 64 KiB)", run, r"error: .*\n.*", 3, ledger_of(run),
                      place.compare("small/out"))
        finally:
            subprocess.run(["umount", str(small)], check=True)
    else:
        print("| a full disk | not tried: mounting a tmpfs needs root | | | | |")

    newest = killed_at_gate(place, "cut")
    newest.write_bytes(newest.read_bytes()[:-40])
    resumed = place.resume("cut")
    place.run("whole").end()
    table.row("a truncated checkpoint, resumed", resumed, r"checkpoint .* is damaged.*", 0,
              ledger_of(resumed), place.same("cut"))
    if not newest.with_name("epoch-2.safetensors.damaged").exists():
        table.wrong.append("the truncated checkpoint is gone")

    newest = killed_at_gate(place, "unread")
    kept = newest.read_bytes()
    newest.unlink()
    newest.symlink_to(newest)  # root can read a file regardless of its permissions
    refused = place.resume("unread")
    newest.unlink()
    newest.write_bytes(kept)
    table.row("a checkpoint that cannot be read, resumed (then put back)", refused, r"cannot open [^;]*",
              3, "-", place.compare("unread"))


def files_that_change(table, root):
    place = Place(root, "image", TRAINING)
    run = place.run("out")
    run.read_until("epoch 1/8  evaluate")
    victim = sorted((place.folder / "wardrobe").rglob("*.jpg"))[0]
    kept = victim.read_bytes()
    victim.unlink()
    run.end()
    victim.write_bytes(kept)
    table.row("an image deleted during the run (then put back)", run, r"error: .*\n.*", 3,
              ledger_of(run), place.compare("out"))

    place = Place(root, "plugin", COUNTING)
    plugins = place.folder / "plugins"
    shutil.copytree(PLUGINS, plugins)
    gate = Gate(place)
    run = place.run("out", plugins=plugins)
    gate.wait()
    for file in plugins.glob("*.so"):
        other = file.with_suffix(".new")
        other.write_bytes(file.read_bytes() + b"another build")
        other.rename(file)
    gate.open()
    gate.remove()
    run.end()
    place.run("whole").end()
    same = place.same("out")
    table.row("the plugin replaced on disk during the run", run, r"ledger: .*", 0, ledger_of(run),
              "identical, not resumed" if same == "identical" else same)
    (place.folder / "out/checkpoints/epoch-4.safetensors").unlink()
    resumed = place.resume("out")
    table.row("... and resumed with the other plugin", resumed, r"the plugins have changed.*", 0,
              ledger_of(resumed), place.same("out"))


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="seam-faults-"))
    table = Table()
    try:
        if "--kills" not in sys.argv:
            for part in (stages_that_fail, stages_that_misbehave, stages_that_crash, sources_that_block, signals, starts, disks, files_that_change):
                part(table, root)
        kills(table, root, 5 if "--kills" in sys.argv else 10)
    finally:
        shutil.rmtree(root)
    for text in table.wrong:
        print(f"faults: {text}", file=sys.stderr)
    sys.exit(1 if table.wrong else 0)


main()
