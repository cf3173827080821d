#include "stages/model/self_attention.hpp"

#include <string>

namespace seam::stages {

void SelfAttention::declare(Declaration& d) {
  d.doc(
      "Self-attention (Zhang et al. 2019): adds to each pixel of a feature map a mean of all "
      "pixels, weighted by similarity and scaled by a trained factor that is initially 0.");
  d.parameter("channels", channels_, "channels of the feature map").range(1, 65536).required();
  d.parameter("reduction", reduction_,
              "pixels are compared by vectors of `channels` / `reduction` elements, rounded down "
              "but at least 1")
      .range(1, 65536);
  const std::string map =
      channels_ > 0 ? "f32[N," + std::to_string(channels_) + ",H,W]" : "f32[N,C,H,W]";
  d.needs(field::feature_map).contract(map);
  d.provides(field::feature_map).contract(map);
  declare_module(d);
}

void SelfAttention::forward(nn::SelfAttention& net, Packet& packet, Context& /*context*/) {
  packet.set(field::feature_map, net->forward_map(packet.get(field::feature_map)));
}

}  // namespace seam::stages
