/// The check of a feature map that is a module's input.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace seam::nn {

/// Throws seam::Error unless it is [N,channels,H,W] with at least one pixel.
void check_feature_map(const torch::Tensor& map, std::int64_t channels);

}  // namespace seam::nn
