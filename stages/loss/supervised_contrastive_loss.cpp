#include "stages/loss/supervised_contrastive_loss.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include <limits>

#include "stages/nn/layers.hpp"

namespace seam::stages {

using torch::Tensor;

Tensor supervised_contrastive_loss(const Tensor& embedding, const Tensor& labels,
                                   double temperature) {
  const Tensor unit = torch::nn::functional::normalize(embedding);
  const Tensor similarity = nn::linear(unit, unit) / temperature;
  const Tensor self = torch::eye(labels.size(0), labels.options().dtype(torch::kBool));
  const Tensor positive = (labels.unsqueeze(0) == labels.unsqueeze(1)) & ~self;
  const Tensor others =
      torch::logsumexp(similarity.masked_fill(self, -std::numeric_limits<double>::infinity()), 1,
                       /*keepdim=*/true);
  const Tensor count = positive.sum(1);
  const Tensor of_rows =
      (others - similarity).masked_fill(~positive, 0).sum(1) / count.clamp_min(1);
  return of_rows.sum() / (count > 0).sum();
}

}  // namespace seam::stages
