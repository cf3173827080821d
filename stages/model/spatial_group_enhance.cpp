#include "stages/model/spatial_group_enhance.hpp"

#include <torch/types.h>

#include "stages/nn/feature_map.hpp"
#include "stages/nn/fixed_parts.hpp"

namespace seam::nn {

SpatialGroupEnhanceImpl::SpatialGroupEnhanceImpl(std::int64_t channels, std::int64_t groups)
    : channels_(channels), groups_(groups) {
  if (channels < 1 || groups < 1 || channels % groups != 0) {
    throw Error(std::to_string(channels) + " channels cannot be divided into " +
                    std::to_string(groups) +
                    " groups of the same size; choose `groups` that divide them",
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

namespace seam::stages {

void SpatialGroupEnhance::declare(Declaration& d) {
  d.doc(
      "Spatial group-wise enhancement (Li et al. 2019): groups of channels are weighted, pixel by "
      "pixel, by how much they agree with the group's mean over the image.");
  d.parameter("channels", channels_, "channels of the feature map").range(1, 65536).from_field();
  d.parameter("groups", groups_, "number of channel groups; must divide `channels`")
      .range(1, 65536);
  const std::string map = "f32[N," + dimension_of(channels_, "channels") + ",H,W]";
  d.needs(field::feature_map).contract(map);
  d.provides(field::feature_map).contract(map);
  declare_module(d);
}

void SpatialGroupEnhance::forward(nn::SpatialGroupEnhance& net, Packet& packet,
                                  Context& /*context*/) {
  packet.set(field::feature_map, net->forward(packet.get(field::feature_map)));
}

}  // namespace seam::stages
