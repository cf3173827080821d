"""Trainings on In-Shop as loops in PyTorch: peers of `scripts/bench run`.

    python inshop_training.py FOLDER_OF_INSHOP [--network embedding|type-d|pretrained] [--epochs 3] [--threads 2]
                              [--precision float32|bfloat16] [--seed 7] [--evaluate]

embedding is pipelines/inshop-embedding.toml, type-d is pipelines/descriptors/type-d.toml, and pretrained is
pipelines/inshop-pretrained.toml with the network of scripts/export_lite0.py. Multi-similarity is pytorch-metric-learning's.

The same network, batches, loss and optimizer. All images are decoded before the clock starts, as a run has them in its cache
after the first epoch; each is resized in each epoch, as in a run. Brightness, saturation and hue are changed for whole
batches. type-d also trains on the items that the file holds out. Channels last, fused Adam, the learning rates of the pipeline file for this number of
epochs (type-d: of its first epochs); bfloat16 is autocast's. Prints `run images_per_second=... parameters=... loss=...` of the
last epoch. With --evaluate, it prints R@1 of `pretrained` on both lists before and after training, too. $LITE0 names the file
of `pretrained`; without it, the weights are downloaded.
"""

import argparse
import collections
import dataclasses
import math
import os
import pathlib
import random
import sys
import time

import cv2
import torch
from pytorch_metric_learning.losses import MultiSimilarityLoss
from pytorch_metric_learning.miners import MultiSimilarityMiner
from torch import nn
from torch.nn import functional

import descriptors_step

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
import export_lite0


@dataclasses.dataclass
class Recipe:
    """How a pipeline file draws and prepares its batches."""

    items: int
    images: int
    large: int  # side of a resized image, before the crop
    side: int
    coloured: bool
    degrees: float
    rate: float


RECIPES = {
    "embedding": Recipe(24, 4, 108, 96, True, 0, 1e-3),
    "pretrained": Recipe(24, 4, 144, 128, True, 0, 3e-4),
    "type-d": Recipe(8, 4, 108, 96, False, 10, 1e-3),
}


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after))
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, images):
        return functional.relu(self.second(self.first(images)) + self.shortcut(images))


class Network(nn.Module):
    """model.resnet with one block of each size, from 32 channels on."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                                  nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Block(32, 32, 1), Block(32, 64, 2), Block(64, 128, 2), Block(128, 256, 2))
        self.exponent = nn.Parameter(torch.tensor(3.0))
        self.dense = nn.Linear(256, 368)

    def forward(self, images):
        features = self.blocks(self.stem(images)).clamp(min=1e-6)
        pooled = features.pow(self.exponent).mean((2, 3)).pow(1 / self.exponent)
        return self.dense(pooled)


class Pretrained(nn.Module):
    """The mean of EfficientNet-Lite0's last feature map. Batch normalisation is frozen."""

    def __init__(self):
        super().__init__()
        self.trunk = export_lite0.Lite0()
        exported = os.environ.get("LITE0")
        weights = torch.jit.load(exported) if exported else export_lite0.trained_on_imagenet()
        self.trunk.load_state_dict(weights.state_dict())
        self.frozen = [module for module in self.trunk.modules() if isinstance(module, nn.BatchNorm2d)]
        for module in self.frozen:
            module.requires_grad_(False)

    def forward(self, images):
        return self.trunk(images)[0]

    def train(self, mode=True):
        super().train(mode)
        for module in self.frozen:
            module.eval()
        return self


def recoloured(images):
    """Brightness, saturation and hue of each image by chance, as image.augment changes them; a fifth becomes grey."""
    count = len(images)
    images = (images * (0.7 + 0.6 * torch.rand(count)).view(-1, 1, 1, 1)).clamp(0, 1)
    luma = torch.tensor([0.213, 0.715, 0.072]).expand(3, 3)
    quarter_turn = torch.tensor([[-0.213, -0.715, 0.928], [0.143, 0.140, -0.283], [-0.787, 0.715, 0.072]])
    angle = ((torch.rand(count) - 0.5) * torch.pi / 5).view(-1, 1, 1)
    saturation = ((0.5 + torch.rand(count)) * (torch.rand(count) > 0.2)).view(-1, 1, 1)
    matrix = luma + saturation * (torch.cos(angle) * (torch.eye(3) - luma) + torch.sin(angle) * quarter_turn)
    return torch.einsum("nij,njhw->nihw", matrix, images).clamp(0, 1)


def prepared(image, recipe):
    """Resized, rotated and cropped at random."""
    image = cv2.resize(image, (recipe.large, recipe.large), interpolation=cv2.INTER_AREA)
    if recipe.degrees:
        centre = (recipe.large - 1) / 2
        turn = cv2.getRotationMatrix2D((centre, centre), random.uniform(-recipe.degrees, recipe.degrees), 1)
        image = cv2.warpAffine(image, turn, (recipe.large, recipe.large), borderMode=cv2.BORDER_REPLICATE)
    top, left = (random.randrange(recipe.large - recipe.side + 1) for _ in range(2))
    return torch.from_numpy(image[top:top + recipe.side, left:left + recipe.side])


def batch_of(chosen, images, recipe):
    """Mirrored at random; float with channels last."""
    crops = torch.stack([prepared(images[at], recipe) for at in chosen]).permute(0, 3, 1, 2).float() / 255
    mirrored = torch.rand(len(chosen)) < 0.5
    crops[mirrored] = crops[mirrored].flip(3)
    return (recoloured(crops) if recipe.coloured else crops).contiguous(memory_format=torch.channels_last)


def training_of(name):
    """(network, optimizer, loss of a batch's output and items) of a network."""
    rate = RECIPES[name].rate
    if name == "type-d":
        network = descriptors_step.Network(*descriptors_step.NETWORKS["small"]).to(memory_format=torch.channels_last)
        exponents = [weight for name, weight in network.named_parameters() if name.endswith(".p")]
        others = [weight for name, weight in network.named_parameters() if not name.endswith(".p")]
        groups = [{"params": others, "weight_decay": 5e-4}, {"params": exponents, "weight_decay": 0}]
        adam = torch.optim.Adam(groups, lr=rate, eps=1e-7, fused=True)
        return network, adam, lambda output, items: descriptors_step.loss_of(output[0], output[1], items)
    network = (Pretrained() if name == "pretrained" else Network()).to(memory_format=torch.channels_last)
    adam = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=1e-4, eps=1e-7, fused=True)
    loss, mine = MultiSimilarityLoss(alpha=2, beta=50, base=0.5), MultiSimilarityMiner(epsilon=0.1)

    def loss_of(output, items):
        embeddings = functional.normalize(output.float())
        return loss(embeddings, items, mine(embeddings, items))

    return network, adam, loss_of


def rows_of(folder, name, status):
    """[(file, item), ...] of an In-Shop list."""
    lines = (folder / "Eval" / name).read_text().splitlines()[2:]
    return [(file, item) for file, item, its in map(str.split, lines) if its == status]


def decoded(folder, file):
    return cv2.cvtColor(cv2.imread(str(folder / file)), cv2.COLOR_BGR2RGB)


def read(folder):
    """([decoded RGB image, ...], {item: positions of its images}) of the training list."""
    images = []
    items = collections.defaultdict(list)
    for at, (file, item) in enumerate(rows_of(folder, "list_eval_partition.txt", "train")):
        images.append(decoded(folder, file))
        items[item].append(at)
    return images, items


@torch.no_grad()
def embedded(network, folder, rows, recipe):
    """Embeddings of unit length of centre crops."""
    network.eval()
    margin = (recipe.large - recipe.side) // 2
    crops = [torch.from_numpy(cv2.resize(decoded(folder, file), (recipe.large, recipe.large), interpolation=cv2.INTER_AREA)
                              [margin:margin + recipe.side, margin:margin + recipe.side]) for file, _ in rows]
    batches = (torch.stack(crops[at:at + 64]).permute(0, 3, 1, 2).float() / 255 for at in range(0, len(crops), 64))
    return torch.cat([functional.normalize(network(batch.contiguous(memory_format=torch.channels_last))) for batch in batches])


def print_recall(when, network, folder, recipe):
    for name in ("list_eval_partition.txt", "list_eval_partition.cross-colour.txt"):
        queries, gallery = (rows_of(folder, name, status) for status in ("query", "gallery"))
        nearest = (embedded(network, folder, queries, recipe) @ embedded(network, folder, gallery, recipe).T).argmax(1)
        hits = sum(item == gallery[at][1] for (_, item), at in zip(queries, nearest.tolist()))
        print(f"{when} training, {name}: R@1 {hits / len(queries):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--network", choices=sorted(RECIPES), default="embedding")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--evaluate", action="store_true")
    options = parser.parse_args()
    if options.evaluate and (options.network, options.precision) != ("pretrained", "float32"):
        parser.error("--evaluate needs --network pretrained, in float32")
    torch.manual_seed(options.seed)
    random.seed(options.seed)
    torch.set_num_threads(options.threads)
    cv2.setNumThreads(options.threads)
    recipe = RECIPES[options.network]
    images, items = read(options.folder)
    of_item = list(items.values())
    network, optimizer, loss_of = training_of(options.network)
    if options.evaluate:
        print_recall("before", network, options.folder, recipe)
    network.train()
    steps = len(of_item) // recipe.items
    numbers = torch.arange(recipe.items).repeat_interleave(recipe.images)
    for epoch in range(options.epochs):
        started, loss = time.perf_counter(), None
        if options.network != "type-d":
            optimizer.param_groups[0]["lr"] = recipe.rate * (1 + math.cos(math.pi * epoch / options.epochs)) / 2
        for drawn in torch.randperm(len(of_item))[:steps * recipe.items].view(steps, recipe.items).tolist():
            chosen = []
            for item in drawn:
                order = torch.randperm(len(of_item[item]))
                chosen += [of_item[item][order[at % len(order)]] for at in range(recipe.images)]
            with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bfloat16"):
                output = network(batch_of(chosen, images, recipe))
            loss = loss_of(output, numbers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seconds = time.perf_counter() - started
    if options.evaluate:
        print_recall("after", network, options.folder, recipe)
    print(f"run images_per_second={steps * recipe.items * recipe.images / seconds:.1f} "
          f"parameters={sum(weight.numel() for weight in network.parameters() if weight.requires_grad)} loss={loss.item():.4f}")


main()
