#include "stages/loss/multi_similarity_loss.hpp"

#include <torch/torch.h>

#include <limits>

#include "stages/nn/layers.hpp"

namespace seam::stages {
namespace {

using torch::Tensor;

/// log(1 + Σ exp(x)) over each row's chosen entries; 0 for a row without any.
Tensor log_one_plus_sum(const Tensor& x, const Tensor& chosen) {
  const Tensor kept = x.masked_fill(~chosen, -std::numeric_limits<double>::infinity());
  const Tensor one = torch::zeros({x.size(0), 1}, x.options());  // exp(0) = 1
  return torch::logsumexp(torch::cat({kept, one}, 1), 1);
}

}  // namespace

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
    const Tensor mined_positive = positive & (fixed - options.epsilon < hardest_negative);
    negative = negative & (fixed + options.epsilon > hardest_positive);
    positive = mined_positive;
  }
  const Tensor from_positives =
      log_one_plus_sum(-options.alpha * (similarity - options.lambda), positive) / options.alpha;
  const Tensor from_negatives =
      log_one_plus_sum(options.beta * (similarity - options.lambda), negative) / options.beta;
  const auto anchors = static_cast<double>(labels.size(0));
  return {(from_positives + from_negatives).mean(),
          static_cast<double>(positive.sum().item<std::int64_t>()) / anchors,
          static_cast<double>(negative.sum().item<std::int64_t>()) / anchors};
}

}  // namespace seam::stages
