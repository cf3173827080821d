#!/usr/bin/env python3
"""Prints metric_learning_golden.hpp: the results of pytorch-metric-learning's losses for made-up batches, in double.

    python metric_learning_golden.py | clang-format > metric_learning_golden.hpp

No test runs it; it needs torch and pytorch-metric-learning.
"""

import pytorch_metric_learning
import torch
from pytorch_metric_learning.distances import CosineSimilarity, LpDistance
from pytorch_metric_learning.losses import (
    ArcFaceLoss, CircleLoss, ContrastiveLoss, CrossBatchMemory, MultiSimilarityLoss, ProxyAnchorLoss, SupConLoss, TripletMarginLoss
)
from pytorch_metric_learning.miners import BatchHardMiner, MultiSimilarityMiner
from pytorch_metric_learning.reducers import MeanReducer

# margin, alpha, proxies, dimensions, labels: all proxies with a row and not, one row and several
PROXY_ANCHOR = [
    (0.1, 32.0, 4, 3, [0, 1, 2, 3, 1]),
    (0.1, 32.0, 5, 4, [3, 3, 0, 3, 0, 4]),
    (0.4, 2.5, 3, 2, [1, 1]),
]

# alpha, beta, lambda, epsilon, dimensions, labels
MULTI_SIMILARITY = [
    (2.0, 50.0, 0.5, 0.1, 5, [0, 0, 1, 1, 2, 2]),
    (2.0, 50.0, 0.5, 0.1, 3, [0, 0, 0, 1, 2, 1, 0, 3]),
    (1.5, 10.0, 0.2, 0.5, 4, [7, 7, 3, 3, 7, 3]),
]

# margin, dimensions, labels: every row has a positive, since the library averages over those that do
BATCH_HARD = [
    (0.2, 4, [0, 0, 1, 1, 2, 2]),
    (1.5, 6, [5, 2, 5, 5, 2, 2, 9, 9]),
]

# margin in degrees, scale, classes, dimensions, labels; with 120 degrees most rows are beyond the turn
ARCFACE = [
    (28.6, 64.0, 4, 3, [0, 1, 2, 3, 1]),
    (120.0, 2.0, 5, 4, [3, 3, 0, 3, 0, 4]),
    (0.0, 1.0, 3, 2, [1, 1]),
]

# temperature, dimensions, labels
SUPERVISED_CONTRASTIVE = [
    (0.1, 4, [0, 0, 1, 1, 2, 2]),
    (0.1, 5, [0, 0, 0, 1, 2, 1, 0, 3]),
    (1.5, 3, [7, 7, 3]),
]

# margin, scale, dimensions, labels: also rows without a positive
CIRCLE = [
    (0.4, 80.0, 4, [0, 0, 1, 1, 2, 2]),
    (0.25, 2.0, 5, [0, 0, 0, 1, 2, 1, 0, 3]),
    (0.0, 256.0, 3, [7, 7, 3]),
]

# margin, rows of the memory, dimensions, labels of batches in a row: the memory is filled, and holds less than all of them
CROSS_BATCH_MEMORY = [
    (0.5, 12, 4, [[0, 0, 1, 1], [2, 2, 0, 3], [1, 3, 4, 4], [0, 5, 5, 6], [1, 1, 2, 0]]),
    (0.0, 7, 3, [[0, 1, 0], [1, 1, 2], [2, 0, 2], [0, 3, 3]]),
    (0.9, 3, 3, [[0, 1, 0], [0, 0, 2]]),
]


def listed(values):
    return "{" + ", ".join(f"{value:.9g}" for value in values) + "}"


def numbers(count, phase):
    """As in tests/stages/golden/numbers.hpp."""
    at = torch.arange(count, dtype=torch.float64)
    return torch.sin(12.9898 * at + phase) * torch.cos(4.1414 * at + 2 * phase)


def digest(tensor):
    flat = tensor.flatten()
    return listed([flat.dot(numbers(len(flat), 0.1)).item(), flat.norm().item()])


CASES = iter(range(1, 1000))


def embedding_of(labels, dimensions):
    """The phase of the numbers, and a batch of them."""
    phase = next(CASES)
    return phase, numbers(len(labels) * dimensions, phase).view(-1, dimensions).requires_grad_(True)


print(f"""/// What pytorch-metric-learning {pytorch_metric_learning.__version__} computes; metric_learning_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/stages/golden/numbers.hpp"

namespace seam::test {{

/// A loss of an embedding [labels, dimensions] of numbers() with this phase.
struct PairGolden {{
  std::vector<double> options;
  std::vector<std::int64_t> labels;
  std::int64_t dimensions;
  double phase;
  double loss;
  Digest gradient;
}};

/// The same with proxies, which have half the phase.
struct ProxyGolden {{
  PairGolden batch;
  std::int64_t proxies;
  Digest gradient;
}};
""")


def pairs(name, options_text, cases):
    print(f"/// Options: {options_text}.\ninline std::vector<PairGolden> {name}_golden() {{ return {{")
    for options, dimensions, labels, loss in cases:
        phase, embedding = embedding_of(labels, dimensions)
        value = loss(embedding, torch.tensor(labels))
        value.backward()
        print(f"{{{listed(options)}, {listed(labels)}, {dimensions}, {phase}, {value.item():.9g}, {digest(embedding.grad)}}},")
    print("}; }\n")


def proxies(name, options_text, make, weights, cases):
    """`weights(loss)` is the name of the loss' proxies [P,E], or of their transpose."""
    print(f"/// Options: {options_text}.\ninline std::vector<ProxyGolden> {name}_golden() {{ return {{")
    for margin, scale, count, dimensions, labels in cases:
        phase, embedding = embedding_of(labels, dimensions)
        centres = numbers(count * dimensions, phase / 2).view(count, dimensions)
        loss = make(count, dimensions, margin=margin, **{"alpha" if weights == "proxies" else "scale": scale})
        transposed = weights == "W"
        getattr(loss, weights).data = centres.t().clone() if transposed else centres
        value = loss(embedding, torch.tensor(labels))
        value.backward()
        gradient = getattr(loss, weights).grad
        print(f"{{{{{listed([margin, scale])}, {listed(labels)}, {dimensions}, {phase}, {value.item():.9g}, "
              f"{digest(embedding.grad)}}}, {count}, {digest(gradient.t() if transposed else gradient)}}},")
    print("}; }\n")


def multi_similarity(alpha, beta, base, epsilon):
    loss, miner = MultiSimilarityLoss(alpha, beta, base), MultiSimilarityMiner(epsilon)
    return lambda embedding, labels: loss(embedding, labels, miner(embedding, labels))


def batch_hard(margin):
    distance = LpDistance(normalize_embeddings=False)
    loss = TripletMarginLoss(margin, distance=distance, reducer=MeanReducer())
    miner = BatchHardMiner(distance=distance)
    return lambda embedding, labels: loss(embedding, labels, miner(embedding, labels))


proxies("proxy_anchor", "margin, alpha", ProxyAnchorLoss, "proxies", PROXY_ANCHOR)
proxies("arcface", "margin in degrees, scale", ArcFaceLoss, "W", ARCFACE)
pairs("multi_similarity", "alpha, beta, lambda, epsilon", [
    ([*options], dimensions, labels, multi_similarity(*options)) for *options, dimensions, labels in MULTI_SIMILARITY
])
pairs("batch_hard", "margin", [
    ([margin], dimensions, labels, batch_hard(margin)) for margin, dimensions, labels in BATCH_HARD
])
pairs("supervised_contrastive", "temperature", [
    ([temperature], dimensions, labels, SupConLoss(temperature)) for temperature, dimensions, labels in SUPERVISED_CONTRASTIVE
])
pairs("circle", "margin, scale", [
    ([margin, scale], dimensions, labels, CircleLoss(margin, scale)) for margin, scale, dimensions, labels in CIRCLE
])
print("""/// Batches in a row with one memory.
struct MemoryGolden {
  double margin;
  std::int64_t memory;
  std::vector<PairGolden> batches;
};

inline std::vector<MemoryGolden> cross_batch_memory_golden() {
  return {""")
for margin, memory, dimensions, batches in CROSS_BATCH_MEMORY:
    pair_loss = ContrastiveLoss(pos_margin=1, neg_margin=margin, distance=CosineSimilarity())
    loss = CrossBatchMemory(pair_loss, dimensions, memory_size=memory)
    loss.embedding_memory = loss.embedding_memory.double()
    print(f"{{{margin!r}, {memory}, {{")
    for labels in batches:
        phase, embedding = embedding_of(labels, dimensions)
        value = loss(embedding, torch.tensor(labels))
        value.backward()
        print(f"{{{{}}, {listed(labels)}, {dimensions}, {phase}, {value.item():.9g}, {digest(embedding.grad)}}},")
    print("}},")
print("  };\n}\n\n}  // namespace seam::test")
