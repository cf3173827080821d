"""Compares model.sccapsnet's weights with PyTorch, in both directions: sccapsnet_test.py RUN_MODEL.

A state dict of the network's port to PyTorch loads into the stage, and the stage's state into the port; on the same
images both give the same capsules.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import safetensors.torch
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CLASSES, WIDTH, PRIMARY, SIZE = 5, 8, 64, 16


class Convolution(nn.Module):
    """7x7, stride 2; on even sizes TensorFlow's "SAME" pads two before and three after."""

    def __init__(self, channels_in, channels_out, norm=True):
        super().__init__()
        self.c = nn.Conv2d(channels_in, channels_out, 7, 2)
        self.bn = nn.BatchNorm2d(channels_out, eps=1e-3, momentum=0.01) if norm else None

    def forward(self, images):
        features = self.c(functional.pad(images, (2, 3, 2, 3)))
        return features if self.bn is None else functional.relu(self.bn(features))


def squash(capsules):
    squared = capsules.square().sum(-1, keepdim=True)
    return capsules * (squared / (1 + squared) / torch.sqrt(squared + 1e-7))


class SCCapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(Convolution(3, WIDTH), Convolution(WIDTH, 2 * WIDTH), Convolution(2 * WIDTH, WIDTH),
                               Convolution(WIDTH, PRIMARY, norm=False))
        self.w = nn.Parameter(torch.empty(SIZE, CLASSES * SIZE).uniform_(-1, 1))

    def forward(self, images):
        features = self.f(images).permute(0, 2, 3, 1)
        capsules = squash(features.reshape(len(images), -1, SIZE))
        predictions = (capsules @ self.w).view(len(images), -1, CLASSES, SIZE).transpose(1, 2)
        logits = torch.zeros(predictions.shape[:3])
        for _ in range(3):
            chosen = squash((logits.softmax(1).unsqueeze(2) @ predictions).squeeze(2))
            logits = (predictions @ chosen.unsqueeze(3)).squeeze(3)
        return functional.normalize(chosen, dim=-1)


def run(weights, folder):
    """Returns the stage's result for the images, and its saved state."""
    out = folder / "out.safetensors"
    parameters = {"classes": CLASSES, "width": WIDTH, "primary_channels": PRIMARY, "weights": weights}
    subprocess.run([sys.argv[1], "model.sccapsnet", folder / "images.safetensors", out,
                    *(f"{name}={value}" for name, value in parameters.items())], check=True)
    entries = safetensors.torch.load_file(out)
    return entries["capsules"], {n.removeprefix("model/"): t for n, t in entries.items() if n.startswith("model/")}


torch.manual_seed(1)
images = torch.rand(3, 3, 64, 48)
failures = []


def compare(what, theirs, ours):
    difference = (theirs - ours).abs().max().item()
    print(f"{what}: capsules {list(ours.shape)} differ by {difference:.1e} at most")
    if difference > 1e-4:
        failures.append(what)


with tempfile.TemporaryDirectory() as name, torch.no_grad():
    folder = pathlib.Path(name)
    safetensors.torch.save_file({"images": images}, folder / "images.safetensors")

    network = SCCapsNet()
    network(torch.rand(4, 3, 64, 48))  # moves the running statistics
    for tensor in network.state_dict().values():
        if tensor.dim() == 1:
            tensor.add_(torch.rand(tensor.shape))
    network.eval()
    safetensors.torch.save_file(network.state_dict(), folder / "pytorch.safetensors")
    capsules, state = run(folder / "pytorch.safetensors", folder)
    compare("PyTorch's weights in Seam", network(images), capsules)

    network = SCCapsNet()
    network.load_state_dict(state)
    network.eval()
    compare("Seam's weights in PyTorch", network(images), capsules)

sys.exit(1 if failures else 0)
