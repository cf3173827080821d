"""The tables in docs/ are those of the kept runs, and scripts/results notices one that is not.

    results_test.py SEAM SOURCE
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

seam, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

with tempfile.TemporaryDirectory() as name:
    copy = pathlib.Path(name)
    shutil.copytree(source / "docs", copy / "docs")
    (copy / "scripts").mkdir()
    for script in ("results", "results_curve.py"):
        shutil.copy(source / "scripts" / script, copy / "scripts")
    page = copy / "docs" / "results.md"
    original = page.read_text()

    def tables(*options):
        command = [copy / "scripts" / "results", "tables", *options]
        return subprocess.run(command, env={**os.environ, "SEAM": str(seam)}, capture_output=True, text=True)

    fresh = tables("--check")
    assert fresh.returncode == 0, fresh.stderr

    page.write_text(original.replace("| own_weights | ", "| own_weights | 1", 1))
    stale = tables("--check")
    assert stale.returncode == 1 and "docs/results.md: a table differs" in stale.stderr, stale
    assert tables().returncode == 0 and page.read_text() == original, "written, nothing else changes"

    page.write_text(original.replace("<!-- up to here -->", "", 1))
    assert "has no line <!-- up to here -->" in tables().stderr, "it must not read on into the next table"
