/// The check of a feature map that is a module's input.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include <seam/error.hpp>

namespace seam::nn {

/// Throws seam::Error unless it is [N,channels,H,W] with at least one pixel.
inline void check_feature_map(const torch::Tensor& map, std::int64_t channels) {
  if (map.dim() == 4 && map.size(1) == channels && map.size(2) > 0 && map.size(3) > 0) return;
  throw Error(c10::str("the feature map is ", map.sizes(), ", and not [N,", channels,
                       ",H,W]; set `channels` to those of the network before"),
              Fault::configuration);
}

}  // namespace seam::nn
