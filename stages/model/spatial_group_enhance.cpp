#include "stages/model/spatial_group_enhance.hpp"

#include <string>

namespace seam::stages {

void SpatialGroupEnhance::declare(Declaration& d) {
  d.doc(
      "Spatial group-wise enhancement (Li et al. 2019): groups of channels are weighted, pixel by "
      "pixel, by how much they agree with the group's mean over the image.");
  d.parameter("channels", channels_, "channels of the feature map").range(1, 65536).required();
  d.parameter("groups", groups_, "number of channel groups; must divide `channels`")
      .range(1, 65536);
  const std::string map =
      channels_ > 0 ? "f32[N," + std::to_string(channels_) + ",H,W]" : "f32[N,C,H,W]";
  d.needs(field::feature_map).contract(map);
  d.provides(field::feature_map).contract(map);
  declare_module(d);
}

void SpatialGroupEnhance::forward(nn::SpatialGroupEnhance& net, Packet& packet,
                                  Context& /*context*/) {
  packet.set(field::feature_map, net->forward(packet.get(field::feature_map)));
}

}  // namespace seam::stages
