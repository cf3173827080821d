/// Stage `model.self_attention`: each pixel of a feature map attends to all others.
///
///     feature_map ──► feature_map
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <string_view>

#include "stages/nn/self_attention.hpp"

namespace seam::stages {

class SelfAttention final : public ModuleStage<nn::SelfAttention> {
 public:
  static constexpr std::string_view name = "model.self_attention";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::SelfAttention make() const override {
    return nn::SelfAttention(channels_, reduction_);
  }
  void forward(nn::SelfAttention& net, Packet& packet, Context& context) override;

  std::int64_t channels_ = 0;
  std::int64_t reduction_ = 8;
};

}  // namespace seam::stages
