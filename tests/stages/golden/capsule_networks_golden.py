#!/usr/bin/env python3
"""Prints capsule_networks_golden.hpp: what tiny capsule networks compute, and how three steps of Adam change them.

    python capsule_networks_golden.py | clang-format > capsule_networks_golden.hpp

No test runs it; it needs numpy alone and takes some minutes. It was written from the description of the networks,
without their code: routing makes every prediction, and there is no automatic differentiation. Gradients are complex-step
derivatives: f'(x) = Im f(x + ih) / h with h = 1e-30, exact to rounding, so every operation below also works on complex
numbers, of which only the real part decides what is larger.
"""

import numpy

STEP = 1e-30
EPSILON = 1e-7


def numbers(count, phase):
    """As in numbers.hpp: between -1 and 1, in no visible order."""
    at = numpy.arange(count, dtype=numpy.float64)
    return numpy.sin(12.9898 * at + phase) * numpy.cos(4.1414 * at + 2 * phase)


def padded(x, kernel, stride):
    around = []
    for size in x.shape[2:]:
        outputs = -(-size // stride)
        total = max((outputs - 1) * stride + kernel - size, 0)
        around.append((total // 2, total - total // 2))
    return numpy.pad(x, [(0, 0), (0, 0)] + around)


def convolution(x, weight, bias, stride, same=True):
    kernel = weight.shape[2]
    if same:
        x = padded(x, kernel, stride)
    height = (x.shape[2] - kernel) // stride + 1
    width = (x.shape[3] - kernel) // stride + 1
    windows = numpy.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), axis=(2, 3))
    windows = windows[:, :, : stride * height : stride, : stride * width : stride]
    y = numpy.tensordot(windows, weight, axes=((1, 4, 5), (1, 2, 3)))
    return y.transpose(0, 3, 1, 2) + bias[:, None, None]


def transposed_convolution(x, weight, bias, stride):
    """Each input pixel adds the kernel to a square of the output; of "SAME" padding, the smaller half is before."""
    images, _, height, width = x.shape
    _, out, kernel, _ = weight.shape
    whole = numpy.zeros((images, out, height * stride + kernel, width * stride + kernel), dtype=complex)
    for i in range(kernel):
        for j in range(kernel):
            added = numpy.tensordot(x, weight[:, :, i, j], axes=(1, 0)).transpose(0, 3, 1, 2)
            whole[:, :, i : i + stride * height : stride, j : j + stride * width : stride] += added
    before = (kernel - stride) // 2
    return whole[:, :, before : before + height * stride, before : before + width * stride] + bias[:, None, None]


def norm(x, weight, bias):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
    return (x - mean) / numpy.sqrt(variance + 1e-3) * weight[:, None, None] + bias[:, None, None]


def leaky(x, slope):
    return numpy.where(x.real > 0, x, slope * x)


def positive(x):
    return numpy.where(x.real > 0, x, 0)


def squash(s):
    square = (s * s).sum(axis=-1, keepdims=True)
    return square / (1 + square) * s / numpy.sqrt(square + EPSILON)


def routed(u, weight, classes, accumulate):
    """u [N,I,D], weight [D,K*O] or [I,D,K*O]."""
    if weight.ndim == 2:
        weight = numpy.broadcast_to(weight, (u.shape[1],) + weight.shape)
    predictions = numpy.einsum("nid,idm->nim", u, weight).reshape(u.shape[0], u.shape[1], classes, -1)
    logits = numpy.zeros(predictions.shape[:3], dtype=complex)
    for _ in range(3):
        exponentials = numpy.exp(logits)
        couplings = exponentials / exponentials.sum(axis=2, keepdims=True)
        v = squash(numpy.einsum("nik,niko->nko", couplings, predictions))
        agreement = numpy.einsum("niko,nko->nik", predictions, v)
        logits = logits + agreement if accumulate else agreement
    return v


def stacked(p, x, slope):
    for layer in range(4):
        x = convolution(x, p[f"f.{layer}.c.weight"], p[f"f.{layer}.c.bias"], 2)
        if layer < 3:
            x = leaky(norm(x, p[f"f.{layer}.bn.weight"], p[f"f.{layer}.bn.bias"]), slope)
    return x


def residual(p, x, stem_slope, slope):
    def conv(x, name, stride):
        return convolution(x, p[name + ".weight"], p[name + ".bias"], stride)

    def normed(x, name):
        return norm(x, p[name + ".weight"], p[name + ".bias"])

    x = leaky(normed(conv(x, "f.stem.c", 2), "f.stem.bn"), stem_slope)
    for block in ("f.block1.", "f.block2.", "f.block3."):
        main = leaky(normed(conv(x, block + "conv1", 2), block + "bn1"), slope)
        main = normed(conv(main, block + "conv2", 1), block + "bn2")
        x = leaky(main + normed(conv(x, block + "shortcut", 2), block + "shortcut_bn"), slope)
    return x


def capsules(features, weight, classes, size, accumulate):
    u = squash(features.transpose(0, 2, 3, 1).reshape(features.shape[0], -1, size))
    v = routed(u, weight, classes, accumulate)
    lengths = numpy.sqrt((v * v).sum(axis=2))
    return v / lengths[:, :, None], lengths


def one_hot(categories, classes):
    return numpy.eye(classes)[categories]


def triplet_loss(unit, anchor_categories, margin):
    """Rows are anchor, positive, negative of each triplet; all keep the capsule of the anchor's category."""
    embedding = (unit * one_hot(anchor_categories, unit.shape[1])[:, :, None]).reshape(len(unit), -1)
    a, p, n = embedding[0::3], embedding[1::3], embedding[2::3]
    return positive(((a - p) ** 2).sum(axis=1) - ((a - n) ** 2).sum(axis=1) + margin).mean()


def margin_loss(lengths, categories):
    present = one_hot(categories, lengths.shape[1])
    short, long = positive(0.9 - lengths) ** 2, positive(lengths - 0.1) ** 2
    return (present * short + 0.5 * (1 - present) * long).sum(axis=1).mean()


def decoded(p, unit, categories, height, width, channels, layers):
    x = (unit * one_hot(categories, unit.shape[1])[:, :, None]).reshape(len(unit), -1)
    x = positive(x @ p["d.dense.weight"].T + p["d.dense.bias"])
    x = x.reshape(len(unit), height, width, channels).transpose(0, 3, 1, 2)
    for layer in range(1, layers + 1):
        x = transposed_convolution(x, p[f"d.conv{layer}.weight"], p[f"d.conv{layer}.bias"], 2)
        if layer < layers:
            x = leaky(norm(x, p[f"d.bn{layer}.weight"], p[f"d.bn{layer}.bias"]), 0.3)
    return 1 / (1 + numpy.exp(-x))


# Two triplets of 3 classes; all networks of width 2, 8 primary channels in capsules of 4, class capsules of 4.
CATEGORIES = [1, 1, 2, 0, 0, 1]
ANCHORS = [1, 1, 1, 0, 0, 0]
MARGIN = 2.0
REGULARISER = 0.392  # weight of the reconstruction


def stacked_shapes(primary):
    shapes, channels = {}, [3, 2, 4, 2, primary]
    for layer in range(4):
        shapes[f"f.{layer}.c.weight"] = (channels[layer + 1], channels[layer], 7, 7)
        shapes[f"f.{layer}.c.bias"] = (channels[layer + 1],)
        if layer < 3:
            shapes[f"f.{layer}.bn.weight"] = shapes[f"f.{layer}.bn.bias"] = (channels[layer + 1],)
    return shapes


def residual_shapes(primary):
    shapes = {"f.stem.c.weight": (2, 3, 7, 7)}
    for part in ("c.bias", "bn.weight", "bn.bias"):
        shapes["f.stem." + part] = (2,)
    channels = [2, 4, 8, primary]
    for block in (1, 2, 3):
        i, o = channels[block - 1 : block + 1]
        name = f"f.block{block}."
        for part, shape in (("conv1", (o, i, 3, 3)), ("conv2", (o, o, 3, 3)), ("shortcut", (o, i, 1, 1))):
            shapes[name + part + ".weight"], shapes[name + part + ".bias"] = shape, (o,)
        for part in ("bn1", "bn2", "shortcut_bn"):
            shapes[name + part + ".weight"] = shapes[name + part + ".bias"] = (o,)
    return shapes


DECODER = {"d.dense.weight": (8 * 4 * 3, 12), "d.dense.bias": (96,), "d.conv1.weight": (3, 4, 5, 5), "d.conv1.bias": (4,),
           "d.bn1.weight": (4,), "d.bn1.bias": (4,), "d.conv2.weight": (4, 3, 4, 4), "d.conv2.bias": (3,)}

SHARED, OWN = {"w": (4, 12)}, {"w": (4, 4, 12)}


def retrieval(features, accumulate):
    def loss(p, images):
        unit, lengths = capsules(features(p, images), p["w"], 3, 4, accumulate)
        return triplet_loss(unit, ANCHORS, MARGIN), unit, lengths

    return loss


def classifier(features):
    def loss(p, images):
        unit, lengths = capsules(features(p, images), p["w"], 3, 4, True)
        drawn = decoded(p, unit, CATEGORIES, 8, 4, 3, 2)
        difference = ((images - drawn) ** 2).mean()
        return margin_loss(lengths, CATEGORIES) + REGULARISER * difference, unit, lengths

    return loss


# name: shapes of the weights, and the loss
NETWORKS = {
    "sccapsnet_as_released": (stacked_shapes(8) | SHARED, retrieval(lambda p, x: stacked(p, x, 0), False)),
    "sccapsnet_as_published": (stacked_shapes(8) | SHARED, retrieval(lambda p, x: stacked(p, x, 0.1), True)),
    "rccapsnet_as_released": (residual_shapes(8) | SHARED, retrieval(lambda p, x: residual(p, x, 0, 0.3), False)),
    "rccapsnet_as_published": (residual_shapes(8) | SHARED, retrieval(lambda p, x: residual(p, x, 0.1, 0.1), True)),
    "sccapsnet_cls": (stacked_shapes(8) | OWN | DECODER, classifier(lambda p, x: stacked(p, x, 0.1))),
    "rccapsnet_cls": (residual_shapes(8) | OWN | DECODER, classifier(lambda p, x: residual(p, x, 0.1, 0.1))),
}


def initial(shapes):
    weights = {}
    for at, (name, shape) in enumerate(sorted(shapes.items())):
        values = numbers(int(numpy.prod(shape)), 0.7 * (at + 1)).reshape(shape)
        scale = 3 if name == "w" else 0.4
        weights[name] = 1 + 0.3 * values if "bn" in name and name.endswith("weight") else scale * values
    return weights


def gradients(loss, weights, images):
    found = {}
    for name, value in weights.items():
        found[name] = numpy.zeros_like(value)
        for at in numpy.ndindex(value.shape):
            stepped = value.astype(complex)
            stepped[at] += 1j * STEP
            found[name][at] = loss(weights | {name: stepped}, images)[0].imag / STEP
    return found


def adam(weights, found, moments, step, rate=0.01):
    """As in Keras: epsilon is added to the root before the bias is corrected."""
    corrected = rate * numpy.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    for name, gradient in found.items():
        m, v = moments.setdefault(name, (0, 0))
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        moments[name] = m, v
        weights[name] = weights[name] - corrected * m / (numpy.sqrt(v) + EPSILON)


def digest(*tensors):
    """Two numbers that no other tensors of these sizes are likely to have."""
    flat = numpy.concatenate([tensor.flatten() for tensor in tensors])
    return [float(flat @ numbers(flat.size, 0.1)), float(numpy.sqrt(flat @ flat))]


def parts(weights):
    """Names of the weights of each layer, block or decoder."""
    found = {}
    for name in sorted(weights):
        found.setdefault(".".join(name.split(".")[: 2 if name.startswith("f.") else 1]), []).append(name)
    return found


def listed(values):
    return "{" + ", ".join(f"{float(value):.10g}" for value in values) + "}"


def main():
    print("""/// What tiny capsule networks compute; capsule_networks_golden.py prints this.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/stages/golden/numbers.hpp"

namespace seam::test {

/// The weights of a layer, a block or the decoder, in order of their names.
struct TrainedPart {
  Digest gradient;  ///< of the first step
  Digest weight;    ///< after the third
};

struct CapsuleNetworkGolden {
  std::string name;
  std::vector<double> losses;  ///< before each of three steps of Adam, and after them
  Digest capsules;             ///< before the first
  Digest lengths;
  std::map<std::string, TrainedPart> parts;  ///< "f.0", "f.block1", "d", "w" and so on
};

inline std::vector<CapsuleNetworkGolden> capsule_networks_golden() {
  return {""")
    images = 0.5 + 0.5 * numbers(6 * 3 * 32 * 16, 0.3).reshape(6, 3, 32, 16)
    for name, (shapes, loss) in NETWORKS.items():
        weights, moments, losses = initial(shapes), {}, []
        for step in (1, 2, 3):
            value, unit, lengths = loss(weights, images)
            losses.append(value.real)
            found = gradients(loss, weights, images)
            if step == 1:
                first = unit.real, lengths.real, found
            adam(weights, found, moments, step)
        losses.append(loss(weights, images)[0].real)
        rows = ", ".join(
            f'{{"{part}", {{{listed(digest(*(first[2][n] for n in names)))}, {listed(digest(*(weights[n] for n in names)))}}}}}'
            for part, names in parts(weights).items())
        print(f"""      {{"{name}", {listed(losses)}, {listed(digest(first[0]))}, {listed(digest(first[1]))},
       {{{rows}}}}},""", flush=True)
    print("  };\n}\n\n}  // namespace seam::test")


if __name__ == "__main__":
    main()
