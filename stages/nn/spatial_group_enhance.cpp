#include "stages/nn/spatial_group_enhance.hpp"

#include <torch/types.h>
#include <seam/error.hpp>

#include <string>

#include "stages/nn/feature_map.hpp"
#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {

using torch::Tensor;

SpatialGroupEnhanceImpl::SpatialGroupEnhanceImpl(std::int64_t channels, std::int64_t groups)
    : channels_(channels), groups_(groups) {
  if (channels < 1 || groups < 1 || channels % groups != 0) {
    throw Error(std::to_string(channels) + " channels cannot be divided into " +
                    std::to_string(groups) +
                    " groups of the same size; choose `groups` that "
                    "divide them",
                Fault::configuration);
  }
  weight_ = register_parameter("weight", torch::zeros({1, groups, 1, 1}));
  bias_ = register_parameter("bias", torch::ones({1, groups, 1, 1}));
}

Tensor SpatialGroupEnhanceImpl::forward(const Tensor& feature_map) const {
  const bool narrow = feature_map.scalar_type() == torch::kBFloat16;
  const Tensor map = narrow ? feature_map.to(torch::kFloat32) : feature_map;
  check_feature_map(map, channels_);
  if (map.size(2) * map.size(3) < 2) {
    throw Error(
        "a feature map of one pixel has no standard deviation over pixels; use larger images",
        Fault::configuration);
  }
  const std::int64_t groups = groups_;
  const auto enhanced = [groups](const Tensor& x, const Tensor& w) {
    const Tensor grouped = x.reshape({x.size(0), groups, -1, x.size(2), x.size(3)});
    Tensor t = (grouped * grouped.mean({3, 4}, /*keepdim=*/true)).sum(2);
    t = t - t.mean({2, 3}, /*keepdim=*/true);
    constexpr double least = 1e-5;
    t = t / (t.flatten(2).std(2, /*unbiased=*/true, /*keepdim=*/true).unsqueeze(3) + least);
    const Tensor gate = torch::sigmoid(t * w[0] + w[1]).unsqueeze(2);
    return (grouped * gate).reshape(x.sizes());
  };
  return by_parts(map, torch::cat({weight_, bias_}), enhanced, Between::kept);
}

}  // namespace seam::nn
