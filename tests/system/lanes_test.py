"""`lanes` in [pipeline] with the real program and the real stages: lanes_test.py SEAM."""

import subprocess
import time

from judge import WARDROBE, Judge
from lane_pipelines import CHAIN, TRIPLETS

judge = Judge()
(judge.folder / "triplets.toml").write_text(TRIPLETS)
(judge.folder / "chain.toml").write_text(CHAIN)


def train(file, out, *settings, threads=1):
    sets = [part for setting in settings for part in ("--set", setting)]
    judge.run(f"{file}.toml", out, "--threads", str(threads), *sets)
    return judge.results(out)


for file in ("triplets", "chain"):
    plain = train(file, f"{file}-plain")
    judge.check(f"{file}: one lane is none", train(file, f"{file}-one", "pipeline.lanes=1") == plain)
    kept = train(file, f"{file}-keep", "pipeline.lanes=3")
    judge.check(f"{file}: lanes have an effect", kept[1] != plain[1])
    recompute = ("pipeline.lanes=3", 'pipeline.lanes_memory="recompute"')
    judge.check(f"{file}: the memory has none", train(file, f"{file}-recompute", *recompute) == kept)
    judge.check(f"{file}: four threads", train(file, f"{file}-threads", *recompute, threads=4) == kept)
    narrow = ("pipeline.lanes=3", 'pipeline.precision="bfloat16"')
    judge.check(f"{file}: in bfloat16", train(file, f"{file}-narrow", *narrow)
                == train(file, f"{file}-narrow-recompute", *narrow, 'pipeline.lanes_memory="recompute"'))

# A run that is killed within a flow and resumed. It is long enough to be killed by a slow machine.
settings = ("pipeline.lanes=3", 'pipeline.lanes_memory="recompute"', "stage.pairs.per_epoch=60")
whole = train("chain", "whole", *settings)
cut = judge.folder / "cut"
program = subprocess.Popen([judge.seam, "run", "chain.toml", "--run-dir", "cut", "--threads", "1",
                            *(part for setting in settings for part in ("--set", setting))],
                           cwd=judge.folder, stderr=subprocess.DEVNULL)
while program.poll() is None and not list(cut.glob("checkpoints/*-step-*.safetensors")):
    time.sleep(0.002)
program.kill()
judge.holds(program.wait() != 0, "the run ended before it could be killed")
judge.succeed("run", "--resume", "cut")
judge.check("a resumed run has the results of a whole one", judge.results("cut") == whole)

# Lanes belong to the experiment, their memory does not.
resolved = cut / "resolved.toml"
text = resolved.read_text()
resolved.write_text(text.replace('lanes_memory = "recompute"', '# lanes_memory = "keep"  # default'))
judge.succeed("run", "--resume", "cut")
resolved.write_text(text.replace("lanes = 3", "lanes = 2"))
judge.refused("other lanes", "pipeline.lanes = 2 (was 3)", "run", "--resume", "cut")

# A run from before lanes existed has no such key.
judge.check("no lanes are not written", "\nlanes" in (judge.folder / "chain-plain" / "resolved.toml").read_text(), False)
judge.refused("a memory of no lanes", "'lanes_memory' of [pipeline] has no effect with lanes = 1", "check", "chain.toml",
              "--set", 'pipeline.lanes_memory="recompute"')
# Nothing computes in lanes: a histogram, and a loss that is trained.
(judge.folder / "histogram.toml").write_text(WARDROBE + """
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
size = 14
[stage.histogram]
use = "baseline.hsv_histogram"
[stage.proxies]
use = "loss.proxy_anchor"
[stage.adam]
use = "train.adam"
[flow]
train = "items -> decode -> batch -> histogram -> proxies -> adam"
""")
for lanes, warned in ((1, False), (2, True)):
    checked = judge.call("check", "histogram.toml", "--set", f"pipeline.lanes={lanes}")
    judge.check(f"{lanes} lanes of nothing", (checked.returncode, "'lanes' of [pipeline] has no effect" in checked.stderr), (0, warned))
judge.refused("no lanes", "'lanes'", "check", "chain.toml", "--set", "pipeline.lanes=0")
(judge.folder / "loss.toml").write_text(TRIPLETS.replace("model.sccapsnet", "model.sdropcapnet").replace(
    "classes = 14\nwidth = 8\nprimary_channels = 64\n", "image_height = 32\nimage_width = 32\nwidth = 4\n"))
judge.refused("a loss of the network itself", "its field 'loss' (f32[])", "run", "loss.toml", "--set", "pipeline.lanes=2")

judge.end()
