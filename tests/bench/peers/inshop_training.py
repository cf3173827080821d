"""The training of pipelines/inshop-embedding.toml as a loop in PyTorch: a peer of `scripts/bench run`.

    python inshop_training.py FOLDER_OF_INSHOP [--epochs 3] [--threads 2] [--precision float32|bfloat16]

The same network, batches of 24 items with 4 images each, loss and optimizer. All images are decoded before the clock
starts, as a run has them in its cache after the first epoch; each is resized in each epoch, as in a run. Brightness,
saturation and hue are changed for whole batches, with matrices instead of HSV. Channels last, fused AdamW; bfloat16 is
autocast's. Prints `run images_per_second=... parameters=... loss=...` of the last epoch.
"""

import argparse
import collections
import pathlib
import time

import cv2
import torch
from torch import nn
from torch.nn import functional

ITEMS, IMAGES, LARGE, SIDE = 24, 4, 108, 96


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
        return functional.normalize(self.dense(pooled).float())


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


def resized(image):
    return cv2.resize(image, (LARGE, LARGE), interpolation=cv2.INTER_AREA)


def batch_of(chosen, images):
    """Resized, random crops, mirrored by chance; float with channels last."""
    tops, lefts = (torch.randint(LARGE - SIDE + 1, (len(chosen),)).tolist() for _ in range(2))
    crops = torch.stack([torch.from_numpy(resized(images[at])[top:top + SIDE, left:left + SIDE])
                         for at, top, left in zip(chosen, tops, lefts)]).permute(0, 3, 1, 2).float() / 255
    mirrored = torch.rand(len(chosen)) < 0.5
    crops[mirrored] = crops[mirrored].flip(3)
    return recoloured(crops).contiguous(memory_format=torch.channels_last)


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
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    torch.manual_seed(7)
    torch.set_num_threads(options.threads)
    cv2.setNumThreads(options.threads)
    images, items = read(options.folder)
    of_item = list(items.values())
    network = Network().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4, fused=True)
    steps = len(of_item) // ITEMS
    for _ in range(options.epochs):
        started, loss = time.perf_counter(), None
        for drawn in torch.randperm(len(of_item))[:steps * ITEMS].view(steps, ITEMS).tolist():
            chosen = []
            for item in drawn:
                order = torch.randperm(len(of_item[item]))
                chosen += [of_item[item][order[at % len(order)]] for at in range(IMAGES)]
            with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bfloat16"):
                embeddings = network(batch_of(chosen, images))
            loss = multi_similarity(embeddings, torch.arange(ITEMS).repeat_interleave(IMAGES))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seconds = time.perf_counter() - started
    print(f"run images_per_second={steps * ITEMS * IMAGES / seconds:.1f} "
          f"parameters={sum(parameter.numel() for parameter in network.parameters())} loss={loss.item():.4f}")


main()
