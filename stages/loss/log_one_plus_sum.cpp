#include "stages/loss/log_one_plus_sum.hpp"

#include <torch/types.h>

#include <limits>

namespace seam::stages {

torch::Tensor log_one_plus_sum(const torch::Tensor& x, const torch::Tensor& chosen) {
  const torch::Tensor kept = x.masked_fill(~chosen, -std::numeric_limits<double>::infinity());
  const torch::Tensor one = torch::zeros({x.size(0), 1}, x.options());  // exp(0) = 1
  return torch::logsumexp(torch::cat({kept, one}, 1), 1);
}

}  // namespace seam::stages
