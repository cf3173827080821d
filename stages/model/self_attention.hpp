/// Stage `model.self_attention`: each pixel of a feature map attends to all others.
///
///     feature_map ──► feature_map
#pragma once

#include <seam/contract.hpp>
#include <seam/module.hpp>

#include "stages/nn/self_attention.hpp"

namespace seam::stages {

class SelfAttention final : public ModuleStage<nn::SelfAttention> {
 public:
  static constexpr std::string_view name = "model.self_attention";

  void declare(Declaration& d) override {
    d.doc(
        "Self-attention (Zhang et al. 2019): adds to each pixel of a feature map a mean of all "
        "pixels, weighted by similarity and scaled by a trained factor that is initially 0.");
    d.parameter("channels", channels_, "channels of the feature map").range(1, 65536).from_field();
    d.parameter("reduction", reduction_,
                "pixels are compared by vectors of `channels` / `reduction` elements, rounded down "
                "but at least 1")
        .range(1, 65536);
    const std::string map = "f32[N," + dimension_of(channels_, "channels") + ",H,W]";
    d.needs(field::feature_map).contract(map);
    d.provides(field::feature_map).contract(map);
    declare_module(d);
  }

 private:
  [[nodiscard]] nn::SelfAttention make() const override {
    return nn::SelfAttention(channels_, reduction_);
  }
  void forward(nn::SelfAttention& net, Packet& packet, Context& /*context*/) override {
    packet.set(field::feature_map, net->forward_map(packet.get(field::feature_map)));
  }

  std::int64_t channels_ = 0;
  std::int64_t reduction_ = 8;
};

}  // namespace seam::stages
