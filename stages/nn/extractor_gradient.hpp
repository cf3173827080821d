/// The backward pass of the extractor's kernels: see extractor_pass.hpp.
#pragma once

#include <torch/types.h>

#include <vector>

#include "stages/nn/extractor_pass.hpp"
#include "stages/nn/extractor_steps.hpp"

namespace seam::nn {

/// The gradients of one training pass's weights from that of its output [N,h,w,C]: of every layer
/// weight, bias and, except for the last, scale and shift. `T` is float or double, as in the pass.
template <class T>
[[nodiscard]] std::vector<torch::Tensor> extractor_gradients(const std::vector<PassLayer>& layers,
                                                             const torch::Tensor& images,
                                                             const std::vector<Step<T>>& steps,
                                                             const torch::Tensor& output_gradient);

}  // namespace seam::nn
