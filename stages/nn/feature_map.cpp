#include "stages/nn/feature_map.hpp"

#include <torch/types.h>

#include <sstream>

#include <seam/error.hpp>

namespace seam::nn {

void check_feature_map(const torch::Tensor& map, std::int64_t channels) {
  if (map.dim() == 4 && map.size(1) == channels && map.size(2) > 0 && map.size(3) > 0) return;
  std::ostringstream text;
  text << "the feature map is " << map.sizes() << ", and not [N," << channels
       << ",H,W]; set `channels` to those of the network before";
  throw Error(text.str(), Fault::configuration);
}

}  // namespace seam::nn
