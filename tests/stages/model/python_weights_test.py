"""Compares weights with PyTorch, in both directions: python_weights_test.py RUN_MODEL [NETWORK ...]

PyTorch saves a network, model.resnet, model.se_resnet50, model.inception and model.torchscript load it and give the same
results on the same image; Seam's checkpoint loads into PyTorch and gives the same results again. The networks are written
here with the names of torchvision (ResNet) and timm (SE-ResNet, and Caffe's SE-ResNet under "legacy"), whose published files
have them. Where timm and torchvision can be imported, theirs are compared as well.
"""
import subprocess, sys, tempfile
from pathlib import Path

try:
    import torch
    from safetensors.torch import load_file, save_file
    from torch import nn
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


class SqueezeExcitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        squeezed = max(8, int(channels / 16 + 4) // 8 * 8)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        return x * self.fc2(self.fc1(x.mean((2, 3), keepdim=True)).relu()).sigmoid()


class Block(nn.Module):
    def __init__(self, inputs, channels, stride, kernels, excited):
        super().__init__()
        expansion = 4 if len(kernels) == 3 else 1
        sizes = [inputs] + [channels] * (len(kernels) - 1) + [channels * expansion]
        strided = kernels.index(3)
        for i, kernel in enumerate(kernels):
            convolution = nn.Conv2d(sizes[i], sizes[i + 1], kernel, stride if i == strided else 1, kernel // 2, bias=False)
            setattr(self, f"conv{i + 1}", convolution)
            setattr(self, f"bn{i + 1}", nn.BatchNorm2d(sizes[i + 1]))
        self.count = len(kernels)
        self.se = SqueezeExcitation(sizes[-1]) if excited else nn.Identity()
        self.downsample = None
        if stride != 1 or inputs != sizes[-1]:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, sizes[-1], 1, stride, bias=False), nn.BatchNorm2d(sizes[-1]))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.count:
                y = y.relu()
        return (self.se(y) + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):
    def __init__(self, blocks, kernels, excited=False, classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs, channels = 64, 64
        for i, count in enumerate(blocks):
            layer = []
            for block in range(count):
                layer.append(Block(inputs, channels, 2 if i > 0 and block == 0 else 1, kernels, excited))
                inputs = channels * (4 if len(kernels) == 3 else 1)
            setattr(self, f"layer{i + 1}", nn.Sequential(*layer))
            channels *= 2
        self.fc = nn.Linear(inputs, classes)

    def features(self, x):
        x = torch.max_pool2d(self.bn1(self.conv1(x)).relu(), 3, 2, 1)
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
        return x.mean((2, 3))

    def forward(self, x):
        return self.fc(self.features(x))


class CaffeBlock(nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        outputs = 4 * channels
        self.conv1, self.bn1 = nn.Conv2d(inputs, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv3, self.bn3 = nn.Conv2d(channels, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.se_module = nn.Module()
        self.se_module.fc1, self.se_module.fc2 = nn.Conv2d(outputs, outputs // 16, 1), nn.Conv2d(outputs // 16, outputs, 1)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        y = self.bn3(self.conv3(y))
        gate = self.se_module.fc2(self.se_module.fc1(y.mean((2, 3), keepdim=True)).relu()).sigmoid()
        return (gate * y + (x if self.downsample is None else self.downsample(x))).relu()


class CaffeSeResNet(nn.Module):
    def __init__(self, blocks, last_stride=2, classes=1000):
        super().__init__()
        self.layer0 = nn.Module()
        self.layer0.conv1, self.layer0.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        inputs = 64
        for i, count in enumerate(blocks):
            layer = []
            for block in range(count):
                first = 1 if i == 0 else last_stride if i == len(blocks) - 1 else 2
                layer.append(CaffeBlock(inputs, 64 << i, first if block == 0 else 1))
                inputs = 4 * (64 << i)
            setattr(self, f"layer{i + 1}", nn.Sequential(*layer))
        self.last_linear = nn.Linear(inputs, classes)

    def features(self, x):
        x = self.layer0.bn1(self.layer0.conv1(x)).relu()
        # Caffe's pooling: no padding, and a last window that ends beyond the map.
        x = nn.functional.pad(x, (0, 1 - x.shape[3] % 2, 0, 1 - x.shape[2] % 2), value=float("-inf"))
        x = torch.max_pool2d(x, 3, 2)
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
        return x.mean((2, 3))

    def forward(self, x):
        return self.last_linear(self.features(x))


def networks():
    """Name, network, stage and its parameters."""
    caffe = ("model.se_resnet50", [])
    yield "legacy_seresnet50", CaffeSeResNet([3, 4, 6, 3]), *caffe
    yield "legacy_seresnet50 of last stride 1", CaffeSeResNet([3, 4, 6, 3], 1), caffe[0], ["last_stride=1"]
    try:
        import timm
        yield "timm legacy_seresnet50", timm.create_model("legacy_seresnet50"), *caffe
    except Exception as error:
        print(f"without timm's legacy_seresnet50 ({error})")
    for name, network, parameters in networks_of_torchvision():
        yield name, network, "model.resnet", parameters


def networks_of_torchvision():
    """Name, network, parameters of model.resnet."""
    deep = ([3, 4, 6, 3], [1, 3, 1])
    yield "resnet18", ResNet([2, 2, 2, 2], [3, 3]), ["architecture=resnet18"]
    yield "resnet50", ResNet(*deep), ["architecture=resnet50"]
    yield "seresnet50", ResNet(*deep, excited=True), ["architecture=resnet50", "squeeze_excitation=true"]
    try:
        import torchvision
        yield "torchvision resnet34", torchvision.models.resnet34(), ["architecture=resnet34"]
        yield "torchvision resnet50", torchvision.models.resnet50(), ["architecture=resnet50"]
    except Exception as error:
        print(f"without torchvision's own ({error})")
    try:
        import timm
        yield "timm seresnet50", timm.create_model("seresnet50"), ["architecture=resnet50", "squeeze_excitation=true"]
    except Exception as error:
        print(f"without timm's own ({error})")


def inception():
    """torchvision's Inception v3 without its classifiers, and with an embedding; None without torchvision."""
    try:
        import torchvision
        network = torchvision.models.inception_v3(weights=None, aux_logits=True, init_weights=False)
    except Exception as error:
        print(f"without torchvision's Inception ({error})")
        return None
    network.AuxLogits = None
    network.dropout = nn.Identity()
    network.fc = nn.Linear(2048, 20)
    return network


def with_statistics(network):
    """Running statistics and scales like those of a trained network, not 0 and 1."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.8, 1.2)
            module.weight.uniform_(0.4, 0.8)
            module.bias.uniform_(-0.1, 0.1)
    return network.eval()


def difference(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def main():
    program, wanted = sys.argv[1], sys.argv[2:]
    failures = 0

    def expect(name, what, value):
        nonlocal failures
        fine = value <= 1e-4
        failures += not fine
        print(f"{name}: {what} differs by {value:.1e} of the largest number{'' if fine else '  FAILED'}")

    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        folder = Path(folder)
        torch.manual_seed(1)
        images = torch.rand(2, 3, 96, 64)
        pictures, weights, result = folder / "pictures.safetensors", folder / "weights.safetensors", folder / "result.safetensors"
        save_file({"images": images}, pictures)
        for name, network, stage, parameters in networks():
            if wanted and name not in wanted:
                continue
            expected = with_statistics(network)(images)
            save_file({key: value.contiguous() for key, value in network.state_dict().items()}, weights)
            run = [program, stage, pictures, result, f"weights={weights}", *parameters]
            subprocess.run([*run, "classes=1000"], check=True)
            seam = load_file(result)
            expect(name, "what Seam computes with PyTorch's weights", difference(seam["logits"], expected))
            again = {key[len("model/"):]: value for key, value in seam.items() if key.startswith("model/")}
            for parameter in network.parameters():
                parameter.zero_()
            network.load_state_dict(again)
            expect(name, "what PyTorch computes with Seam's checkpoint", difference(network(images), seam["logits"]))
            if isinstance(network, (ResNet, CaffeSeResNet)):  # the published file as it is, without a classifier here
                subprocess.run([*run, "unit_length=false"], check=True)
                expect(name, "the pooled embedding", difference(load_file(result)["embedding"], network.features(images)))
        network = inception()
        if network is not None:
            faces = torch.rand(2, 3, 100, 84)
            expected = with_statistics(network)(faces)
            save_file({"images": faces}, pictures)
            named = {key.replace("fc.", "embedding.") if key.startswith("fc.") else key: value.contiguous()
                     for key, value in network.state_dict().items()}
            save_file(named, weights)
            subprocess.run([program, "model.inception", pictures, result, f"weights={weights}", "blocks=11",
                            "unit_length=false"], check=True)
            expect("torchvision inception_v3", "the embedding", difference(load_file(result)["embedding"], expected))
            save_file({"images": images}, pictures)
        network = with_statistics(ResNet([2, 2, 2, 2], [3, 3], classes=40))
        traced = folder / "network.pt"
        torch.jit.trace(network, images).save(str(traced))
        subprocess.run([program, "model.torchscript", pictures, result, f"file={traced}"], check=True)
        seam = load_file(result)
        expect("a traced network", "what Seam computes", difference(seam["embedding"], network(images)))
        network.load_state_dict({key[len("model/"):]: value for key, value in seam.items() if key.startswith("model/")})
        expect("a traced network", "what PyTorch computes with Seam's checkpoint", difference(seam["embedding"], network(images)))
    return failures > 0


sys.exit(main())
