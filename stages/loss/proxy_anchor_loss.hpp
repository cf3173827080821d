/// Proxy-anchor loss: each proxy is an anchor, and the rows of a batch are its positives and
/// negatives.
///
///     S = p eᵀ ──► 1/|P+| Σ_P+ log(1 + Σ own rows exp(-α (S - δ)))
///                + 1/|P|  Σ_P  log(1 + Σ others   exp( α (S + δ)))      P+: proxies with a row
///
/// Kim, Kim, Cho, Kwak: "Proxy Anchor Loss for Deep Metric Learning", CVPR 2020, equation 4.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::stages {

struct ProxyAnchorOptions {
  double margin = 0.1;  ///< δ
  double alpha = 32;    ///< α
};

/// Scalars on the embedding's device; only the loss has a gradient.
struct ProxyAnchorLoss {
  torch::Tensor loss;
  torch::Tensor positive_similarity;  ///< of a row and its proxy, mean over rows
};

/// `embedding` [N,E] and `proxies` [P,E], of one type and device, are compared by cosine;
/// `labels`, one per row, are the proxies of the rows. Differentiable in both; bit-identical for
/// any number of threads. Values that are not finite make the loss NaN. Throws seam::Error for no
/// rows, for a different number of labels and for a label without a proxy.
[[nodiscard]] ProxyAnchorLoss proxy_anchor_loss(const torch::Tensor& embedding,
                                                const torch::Tensor& proxies,
                                                const std::vector<std::int64_t>& labels,
                                                const ProxyAnchorOptions& options);

}  // namespace seam::stages
