#!/usr/bin/env python3
"""Prints metric_learning_golden.hpp: the results of pytorch-metric-learning's losses for random batches, in double.

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


def listed(tensor):
    return "{" + ", ".join(f"{value:.9g}" for value in tensor.flatten().tolist()) + "}"


def drawn(count, dimensions):
    return torch.randn(count, dimensions, dtype=torch.float64).round(decimals=2)


print(f"""/// What pytorch-metric-learning {pytorch_metric_learning.__version__} computes; metric_learning_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

namespace seam::test {{

/// Tensors are row by row: `embedding` and its gradient [labels, E], `proxies` and theirs [P,E].
struct ProxyAnchorGolden {{
  double margin;
  double alpha;
  std::vector<std::int64_t> labels;
  std::vector<double> embedding;
  std::vector<double> proxies;
  double loss;
  std::vector<double> embedding_gradient;
  std::vector<double> proxies_gradient;
}};

inline std::vector<ProxyAnchorGolden> proxy_anchor_golden() {{
  return {{""")
torch.manual_seed(2020)
for margin, alpha, count, dimensions, labels in PROXY_ANCHOR:
    embedding = drawn(len(labels), dimensions).requires_grad_(True)
    proxies = drawn(count, dimensions)
    loss = ProxyAnchorLoss(count, dimensions, margin=margin, alpha=alpha)
    loss.proxies.data = proxies.clone()
    value = loss(embedding, torch.tensor(labels))
    value.backward()
    print(f"""      {{{margin!r}, {alpha!r}, {listed(torch.tensor(labels))},
       {listed(embedding.detach())},
       {listed(proxies)},
       {value.item():.9g},
       {listed(embedding.grad)},
       {listed(loss.proxies.grad)}}},""")
print("""  };
}

/// Row by row as above. `options`: alpha, beta, lambda, epsilon of multi-similarity, the margin of
/// batch-hard, margin and scale of circle.
struct PairGolden {
  std::vector<double> options;
  std::vector<std::int64_t> labels;
  std::vector<double> embedding;
  double loss;
  std::vector<double> gradient;
};
""")


def pairs(name, cases):
    print(f"inline std::vector<PairGolden> {name}() {{ return {{")
    for options, dimensions, labels, loss in cases:
        embedding = drawn(len(labels), dimensions).requires_grad_(True)
        value = loss(embedding, torch.tensor(labels))
        value.backward()
        print(f"""      {{{listed(torch.tensor(options, dtype=torch.float64))}, {listed(torch.tensor(labels))},
       {listed(embedding.detach())},
       {value.item():.9g},
       {listed(embedding.grad)}}},""")
    print("  }; }\n")


def multi_similarity(alpha, beta, base, epsilon):
    loss, miner = MultiSimilarityLoss(alpha, beta, base), MultiSimilarityMiner(epsilon)
    return lambda embedding, labels: loss(embedding, labels, miner(embedding, labels))


def batch_hard(margin):
    distance = LpDistance(normalize_embeddings=False)
    loss = TripletMarginLoss(margin, distance=distance, reducer=MeanReducer())
    miner = BatchHardMiner(distance=distance)
    return lambda embedding, labels: loss(embedding, labels, miner(embedding, labels))


pairs("multi_similarity_golden", [
    ([alpha, beta, base, epsilon], dimensions, labels, multi_similarity(alpha, beta, base, epsilon))
    for alpha, beta, base, epsilon, dimensions, labels in MULTI_SIMILARITY
])
pairs("batch_hard_golden", [
    ([margin], dimensions, labels, batch_hard(margin)) for margin, dimensions, labels in BATCH_HARD
])
pairs("supervised_contrastive_golden", [
    ([temperature], dimensions, labels, SupConLoss(temperature)) for temperature, dimensions, labels in SUPERVISED_CONTRASTIVE
])
print("""/// As ProxyAnchorGolden; the margin is in degrees, `alpha` is the scale.
inline std::vector<ProxyAnchorGolden> arcface_golden() {
  return {""")
for margin, scale, count, dimensions, labels in ARCFACE:
    embedding = drawn(len(labels), dimensions).requires_grad_(True)
    centres = drawn(count, dimensions)
    loss = ArcFaceLoss(count, dimensions, margin=margin, scale=scale)
    loss.W.data = centres.t().clone()
    value = loss(embedding, torch.tensor(labels))
    value.backward()
    print(f"""      {{{margin!r}, {scale!r}, {listed(torch.tensor(labels))},
       {listed(embedding.detach())},
       {listed(centres)},
       {value.item():.9g},
       {listed(embedding.grad)},
       {listed(loss.W.grad.t())}}},""")
print("  };\n}\n")
print("""/// Batches in a row with one memory; tensors are row by row.
struct MemoryGolden {
  double margin;
  std::int64_t memory;
  struct Batch {
    std::vector<std::int64_t> labels;
    std::vector<double> embedding;
    double loss;
    std::vector<double> gradient;
  };
  std::vector<Batch> batches;
};

inline std::vector<MemoryGolden> cross_batch_memory_golden() {
  return {""")
for margin, memory, dimensions, batches in CROSS_BATCH_MEMORY:
    pair_loss = ContrastiveLoss(pos_margin=1, neg_margin=margin, distance=CosineSimilarity())
    loss = CrossBatchMemory(pair_loss, dimensions, memory_size=memory)
    loss.embedding_memory = loss.embedding_memory.double()
    print(f"{{{margin!r}, {memory}, {{")
    for labels in batches:
        embedding = drawn(len(labels), dimensions).requires_grad_(True)
        value = loss(embedding, torch.tensor(labels))
        value.backward()
        print(f"""{{{listed(torch.tensor(labels))},
       {listed(embedding.detach())},
       {value.item():.9g},
       {listed(embedding.grad)}}},""")
    print("}},")
print("  };\n}\n")
pairs("circle_golden", [
    ([margin, scale], dimensions, labels, CircleLoss(margin, scale)) for margin, scale, dimensions, labels in CIRCLE
])
print("}  // namespace seam::test")
