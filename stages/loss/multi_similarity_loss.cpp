#include "stages/loss/multi_similarity_loss.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "stages/loss/log_one_plus_sum.hpp"
#include "stages/nn/layers.hpp"

namespace seam::stages {

using torch::Tensor;

MultiSimilarityLoss multi_similarity_loss(const Tensor& embedding, const Tensor& labels,
                                          const MultiSimilarityOptions& options) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor unit = torch::nn::functional::normalize(embedding);
  const Tensor similarity = nn::linear(unit, unit);  // unit unitᵀ
  const Tensor same = labels.unsqueeze(0) == labels.unsqueeze(1);
  const Tensor self = torch::eye(labels.size(0), labels.options().dtype(torch::kBool));
  Tensor positive = same & ~self;
  Tensor negative = ~same;
  {
    const torch::NoGradGuard no_gradient;  // mining chooses; it is not differentiated
    const Tensor fixed = similarity.detach();
    const Tensor hardest_positive = fixed.masked_fill(~positive, infinity).amin(1, true);
    const Tensor hardest_negative = fixed.masked_fill(~negative, -infinity).amax(1, true);
    // Takes pairs that do not keep the order rather than those that violate it: NaN does neither,
    // and a batch with NaN must not have a loss of 0.
    const Tensor mined_positive = positive & ~(fixed - options.epsilon >= hardest_negative);
    negative = negative & ~(fixed + options.epsilon <= hardest_positive);
    positive = mined_positive;
  }
  const Tensor from_positives =
      log_one_plus_sum(-options.alpha * (similarity - options.lambda), positive) / options.alpha;
  const Tensor from_negatives =
      log_one_plus_sum(options.beta * (similarity - options.lambda), negative) / options.beta;
  const auto anchors = static_cast<double>(labels.size(0));
  const auto of_an_anchor = [&](const Tensor& pairs) {
    return pairs.sum().to(torch::kFloat64) / anchors;
  };
  return {(from_positives + from_negatives).mean(), of_an_anchor(positive), of_an_anchor(negative)};
}

}  // namespace seam::stages
