"""Runs of several ranks that mpirun starts in a judge's folder; for ranks_test.py and rank_faults.py."""

import os
import shutil
import subprocess
import sys
import time


class LaunchedRanks:
    """Ends the test as skipped if there is no MPI."""

    def __init__(self, judge):
        if not shutil.which("mpirun") or not (judge.seam.parent.parent / "lib/seam/seam_mpi.so").exists():
            print("skipped: there is no mpirun, or seam_mpi.so was not built (scripts/setup --mpi)")
            sys.exit(77)
        self.folder = judge.folder
        self.temporary = judge.folder / "tmp"
        self.temporary.mkdir()
        # Each rank notes its process; rank 1 may differ in its folder, program and temporary folder.
        (judge.folder / "rank").write_text("""#!/bin/sh
export RANK=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
echo $$ > starting-$RANK && mv starting-$RANK pid-$RANK
[ $RANK = 1 ] && cd "${FOLDER_OF_1:-.}" && SEAM=${SEAM_OF_1:-$SEAM} && export TMPDIR=${TMPDIR_OF_1:-$TMPDIR}
eval "exec $SEAM $*"
""")
        (judge.folder / "rank").chmod(0o755)
        # More ranks than cores, as root, on one machine.
        self.variables = os.environ | {
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_btl": "self,vader", "TMPDIR": str(self.temporary),
            "SEAM": str(judge.seam)}

    def start(self, ranks, *arguments, **variables):
        for pid in self.folder.glob("pid-*"):
            pid.unlink()
        return subprocess.Popen(["mpirun", "-n", str(ranks), "./rank", *arguments, "--threads", "1"], cwd=self.folder,
                                env=self.variables | variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @staticmethod
    def end(program, limit=120):
        """The exit code, and what the ranks wrote to standard error."""
        try:
            _, errors = program.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            program.kill()
            program.communicate()
            return "no end", ""
        return program.returncode, errors

    def pid(self, rank):
        return int((self.folder / f"pid-{rank}").read_text())

    def wait_for(self, what, pattern, program, text=""):
        """Waits until there is a file that contains the text."""
        until = time.monotonic() + 60
        while not any(text in path.read_text() if text else path for path in self.folder.glob(pattern)):
            if program.poll() is not None or time.monotonic() > until:
                sys.exit(f"{what}: there is no {pattern}\n{self.end(program)}")
            time.sleep(0.002)

    def copy_for_rank_1(self, name, *files):
        """A separate folder for rank 1, with separate images."""
        shutil.copytree(self.folder / "wardrobe", self.folder / name / "wardrobe")
        for file in files:
            shutil.copy(self.folder / file, self.folder / name)
        return self.folder / name


def lanes(count, memory="keep"):
    return ["--set", f"pipeline.lanes={count}"] + (["--set", f"'pipeline.lanes_memory=\"{memory}\"'"] if memory != "keep" else [])
