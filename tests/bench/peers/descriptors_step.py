"""A training step of the network of pipelines/descriptors/type-d.toml in PyTorch: the peer of descriptors_step_bench.

    python descriptors_step.py --initial FILE [--network small|published] [--steps 5] [--threads 2]
                               [--precision float32|bfloat16]

SE-ResNet in Caffe's style, spatial group-wise enhancement, self-attention, three global descriptors, class capsules by
dynamic routing, both together; batch-hard triplets, cross entropy and cost-sensitive regularisation; Adam. Eager, with
channels last and PyTorch's fused Adam; bfloat16 is autocast's, which needs the CPU's support. Images, labels and
initial weights are read from the file of `descriptors_step_bench --save FILE`. Prints `descriptors_step ms_per_image=...
peak_mib=... before_mib=... loss=... gradient=... parameters=...`, the last three for comparison, from the first step.
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

from capsules import by_products
from memory import peak_mib

NETWORKS = {  # as in descriptors_step_bench.cpp: blocks, width, numbers of a descriptor, categories, items
    "small": ([1, 1, 1, 1], 16, 192, 23, 3997),
    "published": ([3, 4, 6, 3], 64, 0, 12, 10517),
}


class SqueezeExcitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, max(1, channels // 16), 1)
        self.fc2 = nn.Conv2d(max(1, channels // 16), channels, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.fc2(functional.relu(self.fc1(x.mean((2, 3), keepdim=True)))))


class Bottleneck(nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 1, stride, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, 4 * channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * channels)
        self.relu = nn.ReLU(inplace=True)
        self.se_module = SqueezeExcitation(4 * channels)
        self.downsample = None
        if stride != 1 or inputs != 4 * channels:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * channels, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * channels))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.se_module(self.bn3(self.conv3(out)))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class SEResNet(nn.Module):
    def __init__(self, blocks, width):
        super().__init__()
        self.layer0 = nn.Sequential()
        self.layer0.add_module("conv1", nn.Conv2d(3, width, 7, 2, 3, bias=False))
        self.layer0.add_module("bn1", nn.BatchNorm2d(width))
        self.layer0.add_module("relu", nn.ReLU(inplace=True))
        self.layer0.add_module("pool", nn.MaxPool2d(3, 2, ceil_mode=True))
        inputs = width
        for number, count in enumerate(blocks):
            channels = width << number
            stride = 1 if number in (0, len(blocks) - 1) else 2
            layer = nn.Sequential()
            for block in range(count):
                layer.append(Bottleneck(inputs, channels, stride if block == 0 else 1))
                inputs = 4 * channels
            self.add_module(f"layer{number + 1}", layer)
        self.map_bn = nn.BatchNorm2d(inputs)

    def forward(self, images):
        for part in self.children():
            images = part(images)
        return images


class SpatialGroupEnhance(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups
        self.weight = nn.Parameter(torch.zeros(1, groups, 1, 1))
        self.bias = nn.Parameter(torch.ones(1, groups, 1, 1))

    def forward(self, x):
        images, _, height, width = x.shape
        grouped = x.reshape(images, self.groups, -1, height, width)
        agreement = (grouped * grouped.mean((3, 4), keepdim=True)).sum(2)
        mean = agreement.mean((2, 3), keepdim=True)
        deviation = agreement.std((2, 3), keepdim=True) + 1e-5
        gate = torch.sigmoid((agreement - mean) / deviation * self.weight + self.bias)
        return (grouped * gate.unsqueeze(2)).view_as(x)


class SelfAttention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.query_conv = nn.Conv2d(channels, max(1, channels // 8), 1)
        self.key_conv = nn.Conv2d(channels, max(1, channels // 8), 1)
        self.value_conv = nn.Conv2d(channels, channels, 1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        query, key, value = (conv(x).flatten(2) for conv in (self.query_conv, self.key_conv, self.value_conv))
        attention = torch.bmm(query.transpose(1, 2), key).softmax(dim=2)  # image, pixel, pixel that it looks at
        return x + self.gamma * torch.bmm(value, attention.transpose(1, 2)).view_as(x)


class GeneralisedMean(nn.Module):
    def __init__(self, powers):
        super().__init__()
        self.p = nn.Parameter(torch.full((powers,), 3.0))

    def forward(self, x):
        p = self.p.view(1, -1, 1, 1)
        return x.float().clamp(min=1e-6).pow(p).mean((2, 3), keepdim=True).pow(1 / p).flatten(1)


class Descriptors(nn.Module):
    def __init__(self, channels, dimensions):
        super().__init__()
        self.pool2 = GeneralisedMean(1)
        self.pool3 = GeneralisedMean(channels)
        self.projected = dimensions > 0
        for number in (1, 2, 3) if self.projected else ():
            self.add_module(f"projection{number}", nn.Linear(channels, dimensions, bias=False))

    def forward(self, x):
        pooled = [x.mean((2, 3)), self.pool2(x), self.pool3(x)]
        if self.projected:
            pooled = [self.projection1(pooled[0]), self.projection2(pooled[1]), self.projection3(pooled[2])]
        return torch.cat([functional.normalize(each.float()) for each in pooled], dim=1)


class CapsuleModule(nn.Module):
    def __init__(self, width, classes, size=16):
        super().__init__()
        self.classes, self.size = classes, size
        self.w = nn.Parameter(torch.randn(width // size, size, classes * size))
        self.attention = SelfAttention(size)

    def forward(self, descriptors):
        with torch.autocast("cpu", enabled=False):  # squared lengths are small
            capsules = by_products(descriptors.view(len(descriptors), -1, self.size), self.w, self.classes, 3)
        return self.attention(capsules.transpose(1, 2).unsqueeze(3)).squeeze(3).transpose(1, 2)


class Together(nn.Module):
    def __init__(self, width, items, bottleneck=512):
        super().__init__()
        self.bn1 = nn.BatchNorm1d(width)
        self.fc1 = nn.Linear(width, bottleneck)
        self.bn2 = nn.BatchNorm1d(bottleneck)
        self.fc2 = nn.Linear(bottleneck, items)

    def forward(self, descriptors, capsules):
        both = torch.cat([descriptors, capsules.flatten(1)], dim=1)
        return functional.normalize(both), self.fc2(self.bn2(self.fc1(self.bn1(both))))


class Network(nn.Module):
    def __init__(self, blocks, width, dimensions, categories, items):
        super().__init__()
        channels = 4 * width << (len(blocks) - 1)
        described = 3 * (dimensions or channels)
        self.model = SEResNet(blocks, width)
        self.enhance = SpatialGroupEnhance(64)
        self.attention = SelfAttention(channels)
        self.descriptors = Descriptors(channels, dimensions)
        self.capsules = CapsuleModule(described, categories)
        self.together = Together(described + categories * 16, items)

    def forward(self, images):
        descriptors = self.descriptors(self.attention(self.enhance(self.model(images))))
        embedding, logits = self.together(descriptors, self.capsules(descriptors))
        return embedding.float(), logits.float()


def loss_of(embedding, logits, labels):
    distances = torch.cdist(embedding, embedding, compute_mode="donot_use_mm_for_euclid_dist")
    same = labels[:, None] == labels[None, :]
    itself = torch.eye(len(labels), dtype=torch.bool)
    furthest = distances.masked_fill(~same | itself, -1).amax(dim=1)
    nearest = distances.masked_fill(same, float("inf")).amin(dim=1)
    triplets = functional.relu(furthest - nearest + 0.3).mean()
    right = logits.softmax(dim=1).gather(1, labels[:, None])
    return triplets + functional.cross_entropy(logits, labels) + 10 * (1 - right).mean()


def read(file):
    """The tensors of a safetensors file."""
    with open(file, "rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        start = stream.tell()
        types = {"F32": torch.float32, "I64": torch.int64}
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            first, end = entry["data_offsets"]
            stream.seek(start + first)
            data = bytearray(stream.read(end - first))
            tensors[name] = torch.frombuffer(data, dtype=types[entry["dtype"]]).view(entry["shape"])
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--initial", required=True)
    parser.add_argument("--network", choices=sorted(NETWORKS), default="small")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)

    tensors = read(options.initial)
    images, labels = tensors.pop("images"), tensors.pop("labels")
    images = images.contiguous(memory_format=torch.channels_last)
    network = Network(*NETWORKS[options.network])
    missing, unknown = network.load_state_dict(tensors, strict=False)
    missing = [name for name in missing if name in dict(network.named_parameters())]  # running statistics are not there
    if missing or unknown:
        raise SystemExit(f"{options.initial} is of another network: without {missing}, with {unknown}")
    del tensors
    network = network.to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-7, weight_decay=5e-4, fused=True)
    before = peak_mib()

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bfloat16"):
            embedding, logits = network(images)
        loss = loss_of(embedding, logits, labels)
        loss.backward()
        optimizer.step()
        return loss

    first = step().item()  # allocates as well
    gradient = torch.stack([weight.grad.norm() for weight in network.parameters()]).norm().item()
    seconds = [0.0]
    for number in range(options.steps):
        if number == 0:
            seconds.clear()
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    count = sum(weight.numel() for weight in network.parameters())
    print(f"descriptors_step ms_per_image={1e3 * statistics.median(seconds) / len(images):.3f} peak_mib={peak_mib():.1f} "
          f"before_mib={before:.1f} loss={first:.7g} gradient={gradient:.7g} parameters={count} "
          f"torch={torch.__version__.replace('+', '-')}")


if __name__ == "__main__":
    main()
