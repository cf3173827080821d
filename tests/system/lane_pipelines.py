"""Pipelines whose networks compute in lanes; for the tests of lanes and of ranks."""

from judge import FLOWS, NETWORK, QUERIES, RETRIEVAL, WARDROBE

# Batch statistics, dropout, a mask by the anchor's category: triplets must not be cut.
TRIPLETS = WARDROBE + QUERIES + RETRIEVAL + NETWORK + """
dropout = 0.3
""" + FLOWS + """
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

# A flow is long enough to be interrupted.
LONG = CHAIN.replace("per_epoch = 6", "per_epoch = 60")
