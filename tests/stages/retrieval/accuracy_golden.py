#!/usr/bin/env python3
"""Prints accuracy_golden.hpp: what pytorch-metric-learning's AccuracyCalculator makes of random embeddings.

    python accuracy_golden.py | clang-format > accuracy_golden.hpp

No test runs it; it needs torch and pytorch-metric-learning.
"""

import pytorch_metric_learning
import torch
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN

# queries, gallery images (0: leave-one-out), dimensions, items (the gallery lacks the last one)
CASES = [(12, 40, 6, 5), (25, 60, 4, 9), (40, 0, 5, 8)]
METRICS = ("precision_at_1", "r_precision", "mean_average_precision_at_r", "mean_reciprocal_rank")


def listed(values):
    return "{" + ", ".join(str(value) for value in values) + "}"


def numbers(tensor):
    return listed(f"{value:.3f}" for value in tensor.flatten().tolist())


print(f"""/// What pytorch-metric-learning {pytorch_metric_learning.__version__} computes; accuracy_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

namespace seam::test {{

/// Embeddings row by row. Without a gallery: leave-one-out.
struct AccuracyGolden {{
  std::int64_t dimensions;
  std::vector<std::int64_t> query_items;
  std::vector<double> queries;
  std::vector<std::int64_t> gallery_items;
  std::vector<double> gallery;
  double precision_at_1;
  double r_precision;
  double map_at_r;
  double mrr;
}};

inline const std::vector<AccuracyGolden> accuracy_golden{{""")
torch.manual_seed(1)
for queries, gallery, dimensions, items in CASES:
    knn = CustomKNN(LpDistance(normalize_embeddings=False, power=2))
    calculator = AccuracyCalculator(include=METRICS, k=None, knn_func=knn)
    centres = torch.randn(items, dimensions, dtype=torch.float64)

    def drawn(count, most):
        labels = torch.randint(0, most, (count,))
        noise = torch.randn(count, dimensions, dtype=torch.float64)
        return labels, ((centres[labels] + noise) * 1000).round() / 1000

    query_labels, query = drawn(queries, items)
    if gallery:
        gallery_labels, stored = drawn(gallery, items - 1)
        found = calculator.get_accuracy(query, query_labels, stored, gallery_labels)
    else:
        gallery_labels, stored = torch.tensor([]), torch.tensor([])
        found = calculator.get_accuracy(query, query_labels)
    print(f"{{{dimensions}, {listed(query_labels.tolist())}, {numbers(query)},")
    print(f" {listed(gallery_labels.tolist())}, {numbers(stored)},")
    print(" " + ", ".join(repr(float(found[metric])) for metric in METRICS) + "},")
print("};\n\n}  // namespace seam::test")
