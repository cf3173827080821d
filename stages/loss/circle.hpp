/// Stage `loss.circle`: every pair of a batch is weighted by how far its own similarity is from the
/// best one, so that pairs that are good already stop pulling.
///
///     α_p = [1 + m - s]₊ ─┐
///                         ├──► log(1 + Σ_N exp(γ α_n (s - m)) Σ_P exp(-γ α_p (s - (1 - m))))
///     α_n = [s + m]₊ ─────┘
///
/// Sun, Cheng, Zhang, Zhang, Zheng, Wang, Wei: "Circle Loss: A Unified Perspective of Pair
/// Similarity Optimization", CVPR 2020, equations 5 and 6, with one margin for the optima and the
/// margins of both kinds of pairs.
#pragma once

#include <limits>

#include <torch/nn/functional/activation.h>
#include <torch/types.h>

#include "stages/loss/base/batch_loss.hpp"
#include "stages/loss/base/batch_pairs.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::stages {

struct CircleOptions {
  double margin = 0.4;
  double scale = 80;
};

/// The mean over the anchors that have a positive and a negative; there must be at least one.
/// `embedding` [N,E] is compared by cosine; rows of one label show the same item. An embedding that
/// is not finite makes the loss NaN. Differentiable in the embedding, computed in its type.
[[nodiscard]] inline MeasuredLoss circle_loss(const Tensor& embedding,
                                              const std::vector<std::int64_t>& labels,
                                              const CircleOptions& options) {
  const auto [margin, scale] = options;
  const auto [self, positive, negative] = pairs_of_batch(labels, embedding.device());
  const Tensor anchors = (positive.any(1) & negative.any(1)).nonzero().squeeze(1);
  const Tensor unit = nn::unit(embedding);
  const Tensor similarity = nn::linear(unit.index_select(0, anchors), unit);
  const Tensor fixed = similarity.detach();  // the weights are not differentiated
  const Tensor from_positives =
      -scale * (1 + margin - fixed).clamp_min(0) * (similarity - (1 - margin));
  const Tensor from_negatives = scale * (fixed + margin).clamp_min(0) * (similarity - margin);
  const auto sum = [&](const Tensor& of, const Tensor& pairs) {
    constexpr double none = -std::numeric_limits<double>::infinity();
    return of.masked_fill(~pairs.index_select(0, anchors), none).logsumexp(1);
  };
  return {
      torch::nn::functional::softplus(sum(from_positives, positive) + sum(from_negatives, negative))
          .mean(),
      {}};
}

class Circle final : public BatchLoss {
 public:
  static constexpr std::string_view name = "loss.circle";

  void declare(Declaration& d) override {
    d.doc(
        "Circle loss (Sun et al. 2020): for each row, all pairs within the batch, each weighted by "
        "the distance of its cosine similarity from the best one. The defaults are the paper's for "
        "retrieval; for faces it uses a margin of 0.25 and a scale of 256.");
    d.parameter("margin", options_.margin,
                "positive pairs should exceed 1 - margin, negative ones stay below margin")
        .range(0, 1);
    d.parameter("scale", options_.scale, "factor of the logits").range(1e-6, 1e6);
    declare_batch_loss(d);
  }

 private:
  MeasuredLoss of(const Packet& packet, const std::vector<std::int64_t>& labels) override {
    return circle_loss(packet.get(field::embedding), labels, options_);
  }

  CircleOptions options_;
};

}  // namespace seam::stages
