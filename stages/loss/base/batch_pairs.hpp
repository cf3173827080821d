/// The pairs within a batch, as masks, and a sum over them.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace seam::stages {

/// bool [N,N] each; every pair of rows is in one of them.
struct BatchPairs {
  torch::Tensor self;      ///< a row with itself
  torch::Tensor positive;  ///< two rows with the same label
  torch::Tensor negative;
};

[[nodiscard]] inline BatchPairs pairs_of_batch(const std::vector<std::int64_t>& labels,
                                               const torch::Device& device) {
  const torch::Tensor label = torch::tensor(labels, torch::kInt64).to(device);
  const torch::Tensor same = label.unsqueeze(0) == label.unsqueeze(1);
  const torch::Tensor self = torch::eye(label.size(0), same.options());
  return {self, same & ~self, ~same};
}

/// log(1 + Σ exp(x)) over each row's chosen entries: [R] of `x` [R,C] and `chosen` bool [R,C]; 0
/// for a row without any. Other entries have no gradient.
[[nodiscard]] inline torch::Tensor log_one_plus_sum(const torch::Tensor& x,
                                                    const torch::Tensor& chosen) {
  const torch::Tensor kept = x.masked_fill(~chosen, -std::numeric_limits<double>::infinity());
  const torch::Tensor one = torch::zeros({x.size(0), 1}, x.options());  // exp(0) = 1
  return torch::logsumexp(torch::cat({kept, one}, 1), 1);
}

}  // namespace seam::stages
