"""`lanes` in [pipeline] with the real program and the real stages: lanes_test.py SEAM."""

import json
import struct
import subprocess
import time

from judge import NETWORK, QUERIES, RETRIEVAL, WARDROBE, Judge

# Batch statistics, dropout, a mask by the anchor's category: triplets must not be cut.
TRIPLETS = WARDROBE + QUERIES + RETRIEVAL + NETWORK + """
dropout = 0.3
[flow]
train = "items -> triplets -> decode -> triplet_batch -> model -> triplet_loss -> adam"
gallery = "query_items -> decode -> batch -> model -> gallery"
evaluate = "query_items -> decode -> batch -> model -> search -> recall"
[schedule]
epochs = 2
"""

# Two networks in a chain, losses with weights and with a memory, a frozen part, and two optimizers.
CHAIN = WARDROBE + """
[stage.pairs]
use = "sampling.pk"
items = 5
images = 2
per_epoch = 6
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
size = 10
[stage.model]
use = "model.resnet"
blocks = [1, 1]
width = 8
stem = "small"
embedding = false
feature_map = true
freeze = ["conv1.*", "bn1.*"]
[stage.descriptors]
use = "model.descriptors"
dimensions = 6
classes = 14
[stage.proxies]
use = "loss.proxy_anchor"
[stage.categories]
use = "loss.cross_entropy"
[stage.memory]
use = "loss.cross_batch_memory"
memory = 30
[stage.adam]
use = "train.adam"
clip_norm = 1
accumulate = 2
[stage.sgd]
use = "train.sgd"
rate = 1e-3
[flow]
train = "items -> pairs -> decode -> batch -> model -> descriptors -> proxies -> categories -> memory -> adam"
slow = "items -> pairs -> decode -> batch -> model -> descriptors -> categories -> sgd"
[schedule]
epochs = 2
checkpoint_every = { steps = 1 }
keep = 100
"""

judge = Judge()
(judge.folder / "triplets.toml").write_text(TRIPLETS)
(judge.folder / "chain.toml").write_text(CHAIN)


def metrics(run):
    return (judge.folder / run / "metrics.jsonl").read_bytes()


def tensors(run, name="epoch-2"):
    """The checkpoint without its metadata, which has the text of the pipeline."""
    content = (judge.folder / run / "checkpoints" / f"{name}.safetensors").read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__")
    return {key: (entry["dtype"], entry["shape"], content[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for key, entry in header.items()}


def train(file, out, *settings, threads=1):
    sets = [part for setting in settings for part in ("--set", setting)]
    judge.run(f"{file}.toml", out, "--threads", str(threads), *sets)
    return metrics(out), tensors(out)


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

# A run that is killed within a flow and resumed.
cut = judge.folder / "cut"
program = subprocess.Popen([judge.seam, "run", "chain.toml", "--run-dir", "cut", "--threads", "1", "--set", "pipeline.lanes=3",
                            "--set", 'pipeline.lanes_memory="recompute"'], cwd=judge.folder, stderr=subprocess.DEVNULL)
while program.poll() is None and not list(cut.glob("checkpoints/*-step-*.safetensors")):
    time.sleep(0.002)
program.kill()
judge.holds(program.wait() != 0, "the run ended before it could be killed")
judge.succeed("run", "--resume", "cut")
judge.check("a resumed run has the results of a whole one", (metrics("cut"), tensors("cut")) == kept)

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
judge.refused("no lanes", "'lanes'", "check", "chain.toml", "--set", "pipeline.lanes=0")
(judge.folder / "loss.toml").write_text(TRIPLETS.replace("model.sccapsnet", "model.sdropcapnet").replace(
    "classes = 14\nwidth = 8\nprimary_channels = 64\n", "image_height = 32\nimage_width = 32\nwidth = 4\n"))
judge.refused("a loss of the network itself", "its field 'loss' (f32[])", "run", "loss.toml", "--set", "pipeline.lanes=2")

judge.end()
