#!/usr/bin/env python3
"""Prints oml_golden.hpp: what OpenMetricLearning makes of the embeddings in accuracy_golden.hpp.

    python oml_golden.py | clang-format > oml_golden.hpp

No test runs it; it needs torch, pytorch-metric-learning and open-metric-learning. Queries that the gallery does not show are left
out before OML sees them, since it divides by their zero relevant images.
"""

from importlib.metadata import version

import torch
from accuracy_golden import lists
from oml.functional.metrics import calc_retrieval_metrics

KS = (1, 3, 10)


def measured(query_items, queries, gallery_items, gallery):
    alone = len(gallery_items) == 0
    if alone:
        gallery_items, gallery = query_items, queries
    distances = (queries[:, None] - gallery[None]).square().sum(2)
    relevant = query_items[:, None] == gallery_items[None]
    if alone:
        distances.fill_diagonal_(torch.inf)
        relevant.fill_diagonal_(False)
    ranked = distances.argsort(dim=1, stable=True)[:, : max(KS)]
    shown = relevant.any(1).nonzero().flatten().tolist()
    return calc_retrieval_metrics(
        [ranked[query] for query in shown],
        [relevant[query].nonzero().flatten() for query in shown],
        cmc_top_k=KS,
        precision_top_k=KS,
        map_top_k=KS,
        verbose=False,
    )


print(f"""/// What OpenMetricLearning {version("open-metric-learning")} computes from the embeddings of accuracy_golden.hpp;
/// oml_golden.py prints this.
#pragma once

#include <cstdint>
#include <vector>

namespace seam::test {{

struct OmlGolden {{
  std::int64_t k;
  double cmc;
  double precision;
  double map;
}};

/// For each case of accuracy_golden.
inline const std::vector<std::vector<OmlGolden>> oml_golden{{""")
for case in lists():
    found = measured(*case)
    rows = (
        "{" + ", ".join([str(k)] + [repr(float(found[name][k])) for name in ("cmc", "precision", "map")]) + "}"
        for k in KS
    )
    print("{" + ",\n".join(rows) + "},")
print("};\n\n}  // namespace seam::test")
