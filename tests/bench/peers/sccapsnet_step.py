"""A training step of SCCapsNet in straightforward PyTorch: the peer of step_bench.

    python sccapsnet_step.py [--triplets 32] [--steps 2] [--threads 2]
                             [--strongest] [--precision float32|bfloat16]

Follows the released Keras code layer by layer: stride-2 convolutions of 7x7 with TensorFlow's "SAME"
padding, batch normalisation, ReLU and dropout of whole channels; 8,192 capsules of 16 numbers that
share one matrix; three routing iterations whose predictions exist in memory; three towers; Adam.
--strongest selects the fastest version that PyTorch allows: tensors with channels last, and routing in which
no prediction is made (s_j = W_j sum_i c_ij u_i). bfloat16 is autocast's, which needs the CPU's support.
An image is one tower pass of one input image. Prints `step ms_per_image=... peak_gib=...`.
"""

import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

from capsules import squash
from memory import peak_mib


class SameConvolution(nn.Conv2d):
    """7x7, stride 2; on even sizes TensorFlow pads two before and three after."""

    def __init__(self, channels_in, channels_out):
        super().__init__(channels_in, channels_out, kernel_size=7, stride=2)

    def forward(self, images):
        return super().forward(functional.pad(images, (2, 3, 2, 3)))


def block(channels_in, channels_out):
    return nn.Sequential(SameConvolution(channels_in, channels_out),
                         nn.BatchNorm2d(channels_out, eps=1e-3, momentum=0.01),
                         nn.ReLU(),
                         nn.Dropout2d(0.3))


class SharedRouting(nn.Module):
    def __init__(self, classes, size, iterations=3, factored=False):
        super().__init__()
        self.classes, self.size, self.iterations = classes, size, iterations
        self.factored = factored
        self.shared = nn.Linear(size, classes * size, bias=False)
        nn.init.xavier_uniform_(self.shared.weight)

    def forward(self, capsules):
        return self.in_factors(capsules) if self.factored else self.with_predictions(capsules)

    def in_factors(self, capsules):
        weight = self.shared.weight.view(self.classes, self.size, self.size)  # class, number out, number in
        sums = capsules.mean(dim=1, keepdim=True).expand(-1, self.classes, -1) * (capsules.shape[1] / self.classes)
        for iteration in range(self.iterations):
            chosen = squash(torch.einsum("bki,koi->bko", sums, weight))
            if iteration < self.iterations - 1:
                directions = torch.einsum("bko,koi->bki", chosen, weight)
                coupling = torch.matmul(directions, capsules.transpose(1, 2)).softmax(dim=1)
                sums = torch.matmul(coupling, capsules)
        return chosen

    def with_predictions(self, capsules):
        images, count, _ = capsules.shape
        predictions = self.shared(capsules).view(images, count, self.classes, self.size)
        predictions = predictions.transpose(1, 2)                       # image, class, capsule, number
        logits = torch.zeros(images, self.classes, count)
        for iteration in range(self.iterations):
            coupling = logits.softmax(dim=1)
            chosen = squash(torch.matmul(coupling.unsqueeze(2), predictions).squeeze(2))
            if iteration < self.iterations - 1:
                logits = torch.matmul(predictions, chosen.unsqueeze(3)).squeeze(3)
        return chosen


class SCCapsNet(nn.Module):
    def __init__(self, classes=23, size=16, factored=False):
        super().__init__()
        self.size = size
        self.features = nn.Sequential(block(3, 64), block(64, 128), block(128, 64),
                                      SameConvolution(64, 512))
        self.routing = SharedRouting(classes, size, factored=factored)

    def forward(self, images, kept):
        maps = self.features(images).permute(0, 2, 3, 1)
        capsules = squash(maps.reshape(len(images), -1, self.size))
        outputs = functional.normalize(self.routing(capsules), dim=-1) + 1e-7
        return (outputs * kept.unsqueeze(-1)).flatten(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triplets", type=int, default=32)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--strongest", action="store_true")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)

    network = SCCapsNet(factored=options.strongest).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-7)
    towers = [torch.rand(options.triplets, 3, 256, 256) for _ in range(3)]
    if options.strongest:
        network = network.to(memory_format=torch.channels_last)
        towers = [images.contiguous(memory_format=torch.channels_last) for images in towers]
    category = torch.randint(23, (options.triplets,))
    kept = functional.one_hot(category, 23).float()  # the anchor's, for all three

    seconds = []
    for step in range(options.steps + 1):
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bfloat16"):
            anchor, positive, negative = (network(images, kept).float() for images in towers)
        nearer = (anchor - positive).square().sum(dim=1)
        farther = (anchor - negative).square().sum(dim=1)
        functional.relu(nearer - farther + 2.0).mean().backward()
        optimizer.step()
        if step > 0:  # the first one allocates
            seconds.append(time.perf_counter() - start)
    images = 3 * options.triplets
    print(f"step ms_per_image={1000 * statistics.median(seconds) / images:.2f} peak_gib={peak_mib() / 1024:.2f} "
          f"torch={torch.__version__.replace('+', '-')}")


main()
