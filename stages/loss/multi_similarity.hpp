/// Stage `loss.multi_similarity`: pairs of a batch weighted by their own similarity and by those of
/// the other pairs with the same anchor.
///
///     S = e eᵀ ──► mining: pairs that violate the order by more than -epsilon
///              ──► 1/α log(1 + Σ_P exp(-α (S - λ))) + 1/β log(1 + Σ_N exp(β (S - λ)))
///
/// Wang, Han, Huang, Dong, Scott: "Multi-Similarity Loss with General Pair Weighting for Deep
/// Metric Learning", CVPR 2019, equations 7, 8 (mining) and 15 (loss).
#pragma once

#include <limits>

#include <torch/types.h>
#include <torch/utils.h>

#include "stages/loss/base/batch_loss.hpp"
#include "stages/loss/base/batch_pairs.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::stages {

struct MultiSimilarityOptions {
  double alpha = 2;      ///< of positive pairs
  double beta = 50;      ///< of negative pairs
  double lambda = 0.5;   ///< the similarity that positives should exceed and negatives stay below
  double epsilon = 0.1;  ///< margin of the mining
};

/// The mean over all N anchors, and the number of mined pairs per anchor. `embedding` [N,E] is
/// compared by cosine; rows of one label show the same item. An anchor for which nothing is mined
/// counts as 0; an embedding that is not finite makes the loss NaN. Differentiable in the
/// embedding; computed in the embedding's type.
[[nodiscard]] inline MeasuredLoss multi_similarity_loss(const Tensor& embedding,
                                                        const std::vector<std::int64_t>& labels,
                                                        const MultiSimilarityOptions& options) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor unit = nn::unit(embedding);
  const Tensor similarity = nn::linear(unit, unit);  // unit unitᵀ
  auto [self, positive, negative] = pairs_of_batch(labels, embedding.device());
  {
    const torch::NoGradGuard no_gradient;  // mining chooses; it is not differentiated
    const Tensor fixed = similarity.detach();
    const Tensor hardest_positive = fixed.masked_fill(~positive, infinity).amin(1, true);
    const Tensor hardest_negative = fixed.masked_fill(~negative, -infinity).amax(1, true);
    // Takes pairs that do not keep the order rather than those that violate it: NaN does neither,
    // and a batch with NaN must not have a loss of 0.
    positive = positive & ~(fixed - options.epsilon >= hardest_negative);
    negative = negative & ~(fixed + options.epsilon <= hardest_positive);
  }
  const Tensor from_positives =
      log_one_plus_sum(-options.alpha * (similarity - options.lambda), positive) / options.alpha;
  const Tensor from_negatives =
      log_one_plus_sum(options.beta * (similarity - options.lambda), negative) / options.beta;
  const auto anchors = static_cast<double>(labels.size());
  return {(from_positives + from_negatives).mean(),
          {{"positive_pairs", positive.sum().to(torch::kFloat64) / anchors},
           {"negative_pairs", negative.sum().to(torch::kFloat64) / anchors}}};
}

class MultiSimilarity final : public BatchLoss {
 public:
  static constexpr std::string_view name = "loss.multi_similarity";

  void declare(Declaration& d) override {
    d.doc(
        "Multi-similarity loss (Wang et al. 2019): for each row, mines the pairs within the batch "
        "that violate the ranking by more than `epsilon` and weights them by their own cosine "
        "similarity and those of the other pairs.");
    d.parameter("alpha", options_.alpha, "sharpness of the weights of positive pairs")
        .range(1e-6, 1e6);
    d.parameter("beta", options_.beta, "sharpness of the weights of negative pairs")
        .range(1e-6, 1e6);
    d.parameter("lambda", options_.lambda,
                "similarity that positive pairs should exceed and negative pairs should stay below")
        .range(-1, 1);
    d.parameter("epsilon", options_.epsilon, "margin for mining").range(0, 2);
    declare_batch_loss(d);
  }

 private:
  MeasuredLoss of(const Packet& packet, const std::vector<std::int64_t>& labels) override {
    return multi_similarity_loss(packet.get(field::embedding), labels, options_);
  }

  MultiSimilarityOptions options_;
};

}  // namespace seam::stages
