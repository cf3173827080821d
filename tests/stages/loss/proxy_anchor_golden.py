#!/usr/bin/env python3
"""Prints proxy_anchor_golden.hpp: what pytorch-metric-learning's ProxyAnchorLoss makes of random batches, in double.

    python proxy_anchor_golden.py | clang-format > proxy_anchor_golden.hpp

No test runs it; it needs torch and pytorch-metric-learning.
"""

import pytorch_metric_learning
import torch
from pytorch_metric_learning.losses import ProxyAnchorLoss

# margin, alpha, proxies, dimensions, labels: all proxies with a row and not, one row and several
CASES = [
    (0.1, 32.0, 4, 3, [0, 1, 2, 3, 1]),
    (0.1, 32.0, 5, 4, [3, 3, 0, 3, 0, 4]),
    (0.4, 2.5, 3, 2, [1, 1]),
]


def listed(tensor):
    return "{" + ", ".join(repr(value) for value in tensor.flatten().tolist()) + "}"


print(f"""/// What pytorch-metric-learning {pytorch_metric_learning.__version__} computes; proxy_anchor_golden.py prints this.
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
for margin, alpha, count, dimensions, labels in CASES:
    embedding = torch.randn(len(labels), dimensions, dtype=torch.float64, requires_grad=True)
    proxies = torch.randn(count, dimensions, dtype=torch.float64)
    loss = ProxyAnchorLoss(count, dimensions, margin=margin, alpha=alpha)
    loss.proxies.data = proxies.clone()
    value = loss(embedding, torch.tensor(labels))
    value.backward()
    print(f"""      {{{margin!r}, {alpha!r}, {listed(torch.tensor(labels))},
       {listed(embedding.detach())},
       {listed(proxies)},
       {value.item()!r},
       {listed(embedding.grad)},
       {listed(loss.proxies.grad)}}},""")
print("""  };
}

}  // namespace seam::test""")
