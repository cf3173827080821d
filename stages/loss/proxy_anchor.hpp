/// Stage `loss.proxy_anchor`: each item's learned proxy is an anchor, and the rows of a batch are
/// its positives and negatives.
///
///     S = p eᵀ ──► 1/|P+| Σ_P+ log(1 + Σ own rows exp(-α (S - δ)))
///                + 1/|P|  Σ_P  log(1 + Σ others   exp( α (S + δ)))      P+: proxies with a row
///
/// Kim, Kim, Cho, Kwak: "Proxy Anchor Loss for Deep Metric Learning", CVPR 2020, equation 4.
#pragma once

#include <torch/types.h>

#include "stages/loss/base/batch_pairs.hpp"
#include "stages/loss/base/item_labels.hpp"
#include "stages/loss/base/measured_loss.hpp"
#include "stages/loss/base/proxy_loss.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::stages {

struct ProxyAnchorOptions {
  double margin = 0.1;  ///< δ
  double alpha = 32;    ///< α
};

/// Sums a list in parts of a fixed size: LibTorch divides the sum of a longer list among its
/// threads and then adds up their results.
[[nodiscard]] inline Tensor sum_in_parts(const Tensor& list) {
  constexpr std::int64_t part = 16384;
  if (list.size(0) <= part) return list.sum();
  std::vector<Tensor> sums;
  for (const Tensor& some : list.split(part)) sums.push_back(some.sum());
  return sum_in_parts(torch::stack(sums));
}

/// The loss, and the mean cosine of a row and its proxy. `embedding` [N,E] and `proxies` [P,E], of
/// one type and device, are compared by cosine; `labels`, one per row, are the proxies of the rows.
/// Differentiable in both; bit-identical for any number of threads. Values that are not finite make
/// the loss NaN. Throws seam::Error for no rows, for a different number of labels and for a label
/// without a proxy.
[[nodiscard]] inline MeasuredLoss proxy_anchor_loss(const Tensor& embedding, const Tensor& proxies,
                                                    const std::vector<std::int64_t>& labels,
                                                    const ProxyAnchorOptions& options) {
  check_proxy_labels(labels, embedding.size(0), proxies.size(0));
  // One row per proxy, so that the sums over a batch are along the rows.
  const Tensor similarity = nn::linear(nn::unit(proxies), nn::unit(embedding));
  const Tensor label = torch::tensor(labels, torch::kInt64).to(embedding.device());
  const Tensor own = torch::arange(proxies.size(0), label.options()).unsqueeze(1) == label;
  const Tensor from_positives =
      log_one_plus_sum(-options.alpha * (similarity - options.margin), own);
  const Tensor from_negatives =
      log_one_plus_sum(options.alpha * (similarity + options.margin), ~own);
  const auto with_rows =
      static_cast<double>(std::set<std::int64_t>(labels.begin(), labels.end()).size());
  return {sum_in_parts(from_positives) / with_rows +
              sum_in_parts(from_negatives) / static_cast<double>(proxies.size(0)),
          {{"positive_similarity", similarity.detach().gather(0, label.unsqueeze(0)).mean()}}};
}

class ProxyAnchor final : public ProxyLoss {
 public:
  static constexpr std::string_view name = "loss.proxy_anchor";

  ProxyAnchor() : ProxyLoss(100) {}
  void declare(Declaration& d) override {
    d.doc(
        "Proxy-anchor loss (Kim et al. 2020): each item of the training list has a learned proxy; "
        "by cosine similarity, images of the item are pulled towards it and all other images of "
        "the batch are pushed away.");
    declare_proxies(d);
    d.parameter(
         "margin", options_.margin,
         "images of an item should be more similar to its proxy than this, other images less "
         "than minus this")
        .range(0, 2);
    d.parameter("alpha", options_.alpha, "sharpness of the weights of pairs").range(1e-6, 1e6);
    declare_proxy_loss(d);
  }

 private:
  MeasuredLoss compare(const Tensor& embedding, const Tensor& proxies,
                       const std::vector<std::int64_t>& labels) override {
    return proxy_anchor_loss(embedding, proxies, labels, options_);
  }

  ProxyAnchorOptions options_;
};

}  // namespace seam::stages
