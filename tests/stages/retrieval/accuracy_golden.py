#!/usr/bin/env python3
"""Prints accuracy_golden.hpp: what pytorch-metric-learning's AccuracyCalculator makes of made-up embeddings.

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


def numbers(count, phase):
    """As in tests/stages/golden/numbers.hpp."""
    at = torch.arange(count, dtype=torch.float64)
    return torch.sin(12.9898 * at + phase) * torch.cos(4.1414 * at + 2 * phase)


def made_up(count, items, dimensions, phase):
    """As in accuracy_golden.hpp."""
    labels = (numbers(count, phase).abs() * items).long()
    centres, noise = numbers(items * dimensions, 0.3), numbers(count * dimensions, phase + 0.5)
    return labels, centres.view(items, dimensions)[labels] + noise.view(count, dimensions)


def lists():
    """Items and embeddings of the queries and the gallery of each case."""
    for queries, gallery, dimensions, items in CASES:
        yield *made_up(queries, items, dimensions, 1), *made_up(gallery, items - 1, dimensions, 2)


def main():
    print(f"""/// What pytorch-metric-learning {pytorch_metric_learning.__version__} computes; accuracy_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/stages/golden/numbers.hpp"

namespace seam::test {{

/// Images of two lists. Without a gallery: leave-one-out.
struct AccuracyGolden {{
  std::int64_t queries, gallery, dimensions;
  std::int64_t items;  ///< the gallery lacks the last one
  double precision_at_1, r_precision, map_at_r, mrr;
}};

struct MadeUpImages {{
  std::vector<std::int64_t> items;
  torch::Tensor embedding;  ///< f32
}};

/// Each image is near the centre of its item.
inline MadeUpImages made_up_images(std::int64_t count, std::int64_t items, std::int64_t dimensions,
                                   double phase) {{
  const torch::Tensor labels =
      (numbers(count, phase).abs() * static_cast<double>(items)).to(torch::kInt64);
  const torch::Tensor centres = numbers(items * dimensions, 0.3).view({{items, dimensions}});
  const torch::Tensor noise = numbers(count * dimensions, phase + 0.5).view({{count, dimensions}});
  return {{{{labels.data_ptr<std::int64_t>(), labels.data_ptr<std::int64_t>() + count}},
          (centres.index_select(0, labels) + noise).to(torch::kFloat32)}};
}}
inline MadeUpImages queries_of(const AccuracyGolden& golden) {{
  return made_up_images(golden.queries, golden.items, golden.dimensions, 1);
}}
inline MadeUpImages gallery_of(const AccuracyGolden& golden) {{
  return made_up_images(golden.gallery, golden.items - 1, golden.dimensions, 2);
}}

inline const std::vector<AccuracyGolden> accuracy_golden{{""")
    for case, (query_labels, query, gallery_labels, stored) in zip(CASES, lists()):
        knn = CustomKNN(LpDistance(normalize_embeddings=False, power=2))
        calculator = AccuracyCalculator(include=METRICS, k=None, knn_func=knn)
        gallery = (stored, gallery_labels) if len(stored) else ()
        found = calculator.get_accuracy(query, query_labels, *gallery)
        print("{" + ", ".join([*map(str, case), *(repr(float(found[metric])) for metric in METRICS)]) + "},")
    print("};\n\n}  // namespace seam::test")


if __name__ == "__main__":
    main()
