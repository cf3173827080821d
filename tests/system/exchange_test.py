"""Each stage of a pipeline file is replaced by every other stage of its family: exchange_test.py SEAM SOURCE_TREE.

What `seam check` accepts must run to its end, and what cannot work must be rejected by `seam check` already.
"""

import json
import pathlib
import re
import shutil
import sys

from judge import Judge

# One short epoch of small batches.
SMALL = ["schedule.epochs=1", "stage.train_items.items=28", "stage.pairs.items=6", "stage.pairs.images=4",
         "stage.pairs.per_epoch=4", "stage.pair_batch.size=24"]

judge = Judge()
file = pathlib.Path(sys.argv[2]) / "pipelines/demo.toml"
types = [name for plugin in json.loads(judge.succeed("plugins", "--json").stdout)["plugins"] for name in plugin["stages"]]
ran = set()
for stage, used in re.findall(r'\[stage\.(\w+)\][^\n]*\nuse = "([\w.]+)"', file.read_text()):
    for other in types:
        if other == used or other.split(".")[0] != used.split(".")[0]:
            continue
        kept = [setting for setting in SMALL if not setting.startswith(f"stage.{stage}.")]
        settings = [f"--set={setting}" for setting in [*kept, f"stage.{stage}.use={other}"]]
        what = f"{stage}: {other} instead of {used}"
        checked = judge.call("check", file, *settings)
        if checked.returncode != 0:
            judge.check(f"{what}: exit code of check\n{checked.stderr}", checked.returncode, 2)
            continue
        result = judge.call("run", file, "--quiet", "--run-dir", "run", *settings)
        judge.check(f"{what}: exit code\n{result.stderr}", result.returncode, 0)
        ran.add(other)
        shutil.rmtree(judge.folder / "run", ignore_errors=True)
judge.holds(len(ran) > 20 and {"sampling.triplets", "model.lenet"} <= ran, f"only these exchanges ran: {sorted(ran)}")
# The network follows the size of the images.
judge.succeed("run", file, "--quiet", *[f"--set={setting}" for setting in [*SMALL, "stage.resize.height=40"]])
judge.end()
