/// The end of a network that makes embeddings.
#pragma once

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include "stages/nn/layers.hpp"

namespace seam::nn {

/// Rows [N,E] scaled to length 1.
[[nodiscard]] inline torch::Tensor unit(const torch::Tensor& rows) {
  return torch::nn::functional::normalize(rows,
                                          torch::nn::functional::NormalizeFuncOptions().dim(1));
}

/// The layer's result in the type of its weights, whatever the autocast type: distances depend on
/// small differences.
[[nodiscard]] inline torch::Tensor precise(Linear& layer, const torch::Tensor& x) {
  return layer(x).to(layer->weight.scalar_type());
}

}  // namespace seam::nn
