"""Every command in broken environments: exit_codes_test.py SEAM.

The exit code is always one of docs/exit-codes.md, never 1, and no command ends by a signal.
"""

import glob
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

CODES = {0, 2, 3, 4, 5, 6}
COMMANDS = [
    ["run", "p.toml", "--run-dir", "out"], ["run", "--resume", "out"], ["sweep", "p.toml", "--over", "pipeline.seed=1..2"],
    ["sweep", "--resume", "out"], ["runs"], ["runs", "out", "--json"], ["compare", "out"], ["check", "p.toml"],
    ["check", "p.toml", "--json"], ["plugins", "--json"], ["plugins", "--load"], ["inspect", "image.decode"],
    ["inspect", "p.toml", "items"], ["graph", "p.toml"], ["report", "out"], ["schema"], ["new", "plugin", "mine"],
    ["new", "pipeline", "mine"], ["--version"], ["--help"], ["unknown"], []]
PIPELINE = """
[stage.items]
use = "dataset.wardrobe"
root = "wardrobe"
items = 14
size = 32
[stage.decode]
use = "image.decode"
[flow]
main = "items -> decode"
"""


def vanished_folder():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))


def little_memory():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # the stacks of many threads do not fit
    # OpenBLAS, if it is the system's BLAS, tries for ever to allocate its buffers: stay below what loading it takes.
    openblas = any("openblas" in os.path.realpath(library) for library in glob.glob("/usr/lib/*/libblas.so.3"))
    limit = (60 if openblas else 200) << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def full_output():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


def closed_output():
    os.close(1)
    os.close(2)


def no_environment():
    """With an empty environment: see below."""


def main():
    seam = pathlib.Path(sys.argv[1]).resolve()
    failures = []
    for place in (vanished_folder, few_files, little_memory, full_output, closed_output, no_environment):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "p.toml").write_text(PIPELINE)
            for command in COMMANDS:
                environment = {} if place is no_environment else None
                ran = subprocess.run([seam, *command], cwd=folder, env=environment, preexec_fn=place, stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, errors="replace", check=False)
                what = f"{place.__name__}: seam {' '.join(command)}"
                if ran.returncode not in CODES:
                    failures.append(f"{what}: {ran.returncode}\n{ran.stderr}")
                # An exception of the standard library, which the command does not expect.
                if place is vanished_folder and command[:2] == ["new", "plugin"] and "No such file" not in ran.stderr:
                    failures.append(f"{what}: does not say why\n{ran.stderr}")
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


main()
