/// The smooth maximum by which losses over pairs combine violations of their margin.
#pragma once

#include <torch/types.h>

namespace seam::stages {

/// log(1 + Σ exp(x)) over each row's chosen entries: [R] of `x` [R,C] and `chosen` bool [R,C]; 0
/// for a row without any. Other entries have no gradient.
[[nodiscard]] torch::Tensor log_one_plus_sum(const torch::Tensor& x, const torch::Tensor& chosen);

}  // namespace seam::stages
