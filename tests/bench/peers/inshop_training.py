"""Trainings on In-Shop as loops in PyTorch: peers of `scripts/bench run`.

    python inshop_training.py FOLDER_OF_INSHOP [--network embedding|type-d|lite0] [--epochs 3] [--threads 2]
                              [--precision float32|bfloat16] [--trace FILE]

embedding is pipelines/inshop-embedding.toml, type-d is pipelines/descriptors/type-d.toml, and lite0 is the former with
EfficientNet-Lite0 at 128x128. `--trace FILE` only writes lite0 for model.torchscript.

The same network, batches, loss and optimizer. All images are decoded before the clock starts, as a run has them in its cache
after the first epoch; each is resized in each epoch, as in a run. Brightness, saturation and hue are changed for whole
batches, with matrices instead of HSV. Channels last, fused Adam; bfloat16 is autocast's. Prints
`run images_per_second=... parameters=... loss=...` of the last epoch.
"""

import argparse
import collections
import dataclasses
import pathlib
import random
import time

import cv2
import torch
from torch import nn
from torch.nn import functional

import descriptors_step


@dataclasses.dataclass
class Recipe:
    """How a pipeline file draws and prepares its batches."""

    items: int
    images: int
    large: int  # side of a resized image, before the crop
    side: int
    coloured: bool
    degrees: float


RECIPES = {
    "embedding": Recipe(24, 4, 108, 96, True, 0),
    "lite0": Recipe(24, 4, 144, 128, True, 0),
    "type-d": Recipe(8, 4, 108, 96, False, 10),
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


def multi_similarity(embeddings, items, alpha=2.0, beta=50.0, base=0.5, epsilon=0.1):
    """Wang et al. 2019, with its mining."""
    similarities = embeddings @ embeddings.T
    same = items[:, None] == items[None, :]
    positive = same & ~torch.eye(len(items), dtype=torch.bool)
    hardest_negative = similarities.masked_fill(same, -2).amax(1, keepdim=True)
    hardest_positive = similarities.masked_fill(~positive, 2).amin(1, keepdim=True)
    positive = positive & (similarities - epsilon < hardest_negative)
    negative = ~same & (similarities + epsilon > hardest_positive)
    of_positives = (torch.exp(-alpha * (similarities - base)) * positive).sum(1).log1p() / alpha
    of_negatives = (torch.exp(beta * (similarities - base)) * negative).sum(1).log1p() / beta
    return (of_positives + of_negatives).mean()


def recoloured(images):
    """Brightness, saturation and hue of each image by chance, grey a fifth of them. Hue turns RGB about grey."""
    count = len(images)
    angle = (torch.rand(count) - 0.5) * torch.pi / 5
    along, across = torch.cos(angle), torch.sin(angle) / 3 ** 0.5
    third = (1 - along) / 3
    turn = torch.stack([along + third, third - across, third + across, third + across, along + third, third - across,
                        third - across, third + across, along + third], 1).view(count, 3, 3)
    turned = torch.einsum("nij,njhw->nihw", turn, images)
    grey = turned.mean(1, keepdim=True)
    saturation = (0.5 + torch.rand(count)) * (torch.rand(count) > 0.2)
    brightness = 0.7 + 0.6 * torch.rand(count)
    return ((grey + (turned - grey) * saturation.view(-1, 1, 1, 1)) * brightness.view(-1, 1, 1, 1)).clamp(0, 1)


def lite0():
    """EfficientNet-Lite0 without dropout, 368 numbers per image."""
    from efficientnet_lite_pytorch import EfficientNet  # only this network needs the package

    network = EfficientNet.from_name("efficientnet-lite0", num_classes=368, dropout_rate=0.0, drop_connect_rate=0.0)
    for module in network.modules():
        if isinstance(module, nn.ReLU6):
            module.inplace = True  # as Seam's own networks do
    return network


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
    if name == "type-d":
        network = descriptors_step.Network(*descriptors_step.NETWORKS["small"]).to(memory_format=torch.channels_last)
        adam = torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=5e-4, fused=True)
        return network, adam, lambda output, items: descriptors_step.loss_of(output[0], output[1], items)
    network = (lite0() if name == "lite0" else Network()).to(memory_format=torch.channels_last)
    adam = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4, fused=True)
    return network, adam, lambda output, items: multi_similarity(functional.normalize(output.float()), items)


def read(folder):
    """([decoded RGB image, ...], {item: positions of its images}) of the training list."""
    lines = (folder / "Eval" / "list_eval_partition.txt").read_text().splitlines()[2:]
    rows = [line.split() for line in lines]
    rows = [row for row in rows if row[2] == "train"]
    images = []
    items = collections.defaultdict(list)
    for at, (file, item, _) in enumerate(rows):
        images.append(cv2.cvtColor(cv2.imread(str(folder / file)), cv2.COLOR_BGR2RGB))
        items[item].append(at)
    return images, items


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--network", choices=sorted(RECIPES), default="embedding")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--trace")
    options = parser.parse_args()
    torch.manual_seed(7)
    random.seed(7)
    torch.set_num_threads(options.threads)
    cv2.setNumThreads(options.threads)
    recipe = RECIPES[options.network]
    if options.trace:
        example = torch.rand(2, 3, recipe.side, recipe.side)
        torch.jit.trace(lite0().train(), example, check_trace=False).save(options.trace)
        return
    images, items = read(options.folder)
    of_item = list(items.values())
    network, optimizer, loss_of = training_of(options.network)
    network.train()
    steps = len(of_item) // recipe.items
    numbers = torch.arange(recipe.items).repeat_interleave(recipe.images)
    for _ in range(options.epochs):
        started, loss = time.perf_counter(), None
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
    print(f"run images_per_second={steps * recipe.items * recipe.images / seconds:.1f} "
          f"parameters={sum(parameter.numel() for parameter in network.parameters())} loss={loss.item():.4f}")


main()
