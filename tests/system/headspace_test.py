"""`seam run --headspace`: the speed of a training flow and of its step alone: headspace_test.py SEAM."""

import re

from judge import FLOWS, NETWORK, QUERIES, RETRIEVAL, WARDROBE, Judge

PIPELINE = WARDROBE + QUERIES + RETRIEVAL + NETWORK + FLOWS + """
[schedule]
epochs = 40
before = ["gallery"]
each_epoch = ["train", "gallery"]
"""

judge = Judge()
(judge.folder / "file.toml").write_text(PIPELINE)
(judge.folder / "scratch").mkdir()

ran = judge.succeed("run", "file.toml", "--headspace", "--set", "stage.triplets.per_epoch=100000", TMPDIR=judge.folder / "scratch")
speeds = re.fullmatch(
    r"flow train, batches of 12 from triplet_batch +images/s\n"
    r"the whole flow +(\d[\d.]*)\n"
    r"model -> triplet_loss -> adam alone +(\d[\d.]*)\n"
    r"The (step|input) is the limit: .*\n",
    ran.stdout)
judge.holds(speeds, f"the table: {ran.stdout}")
if speeds:
    whole, alone = float(speeds[1]), float(speeds[2])
    judge.check("both are speeds", 0 < whole and 0 < alone, True)
    if abs(whole / alone - 0.9) >= 0.01:  # nearer to the limit, the printed digits do not tell
        judge.check("the conclusion fits", speeds[3], "step" if whole >= 0.9 * alone else "input")
judge.check("LibTorch warns of nothing", "CPUAllocator" in ran.stderr, False)
judge.check("no run is left", (judge.folder / "runs").exists(), False)
judge.check("no temporary folder is left", list((judge.folder / "scratch").iterdir()), [])

judge.refused("no flow trains", "no scheduled flow of 'file.toml' trains", "run", "file.toml", "--headspace",
              "--set", 'schedule.each_epoch=["gallery"]')
judge.refused("a run folder", "--run-dir", "run", "file.toml", "--headspace", "--run-dir", "out")

judge.end()
