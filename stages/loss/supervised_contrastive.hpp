/// Stage `loss.supervised_contrastive`: among all other rows of a batch, those of the same item
/// should be the similar ones.
///
///     S = e eᵀ / τ ──► for each row i: mean over positives p of
///                      -log( exp S_ip / Σ_(a ≠ i) exp S_ia )
///
/// Khosla et al., "Supervised Contrastive Learning", NeurIPS 2020, equation 2 (L_out).
#pragma once

#include <limits>

#include <torch/types.h>

#include "stages/loss/base/batch_loss.hpp"
#include "stages/loss/base/batch_pairs.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::stages {

/// The mean over rows that have a positive, and the number of rows without one. `embedding` [N,E]
/// is compared by cosine; rows of one label show the same item, and at least two must.
/// Differentiable in the embedding; one that is not finite makes the loss NaN.
[[nodiscard]] inline MeasuredLoss supervised_contrastive_loss(
    const Tensor& embedding, const std::vector<std::int64_t>& labels, double temperature) {
  const Tensor unit = nn::unit(embedding);
  const Tensor similarity = nn::linear(unit, unit) / temperature;
  const BatchPairs pairs = pairs_of_batch(labels, embedding.device());
  const Tensor others = torch::logsumexp(
      similarity.masked_fill(pairs.self, -std::numeric_limits<double>::infinity()), 1,
      /*keepdim=*/true);
  const Tensor count = pairs.positive.sum(1);
  const Tensor of_rows =
      (others - similarity).masked_fill(~pairs.positive, 0).sum(1) / count.clamp_min(1);
  return {of_rows.sum() / (count > 0).sum(),
          {{"without_positive", (count == 0).sum().to(torch::kFloat64)}}};
}

class SupervisedContrastive final : public BatchLoss {
 public:
  static constexpr std::string_view name = "loss.supervised_contrastive";

  void declare(Declaration& d) override {
    d.doc(
        "Supervised contrastive loss (Khosla et al. 2020): among all other images of a batch, "
        "those of the same item should be the similar ones, by a softmax of cosines. Averaged over "
        "images with a positive.");
    d.parameter("temperature", temperature_,
                "temperature that divides the cosines; small values emphasise the nearest images")
        .range(1e-3, 1e3);
    declare_batch_loss(d);
  }

 private:
  MeasuredLoss of(const Packet& packet, const std::vector<std::int64_t>& labels) override {
    return supervised_contrastive_loss(packet.get(field::embedding), labels, temperature_);
  }

  double temperature_ = 0.1;
};

}  // namespace seam::stages
