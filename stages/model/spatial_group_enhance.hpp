/// Stage `model.spatial_group_enhance`: gates a feature map in groups of channels.
///
///     feature_map ──► feature_map
#pragma once

#include <seam/module.hpp>

#include <cstdint>
#include <string_view>

#include "stages/nn/spatial_group_enhance.hpp"

namespace seam::stages {

class SpatialGroupEnhance final : public ModuleStage<nn::SpatialGroupEnhance> {
 public:
  static constexpr std::string_view name = "model.spatial_group_enhance";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::SpatialGroupEnhance make() const override {
    return nn::SpatialGroupEnhance(channels_, groups_);
  }
  void forward(nn::SpatialGroupEnhance& net, Packet& packet, Context& context) override;

  std::int64_t channels_ = 0;
  std::int64_t groups_ = 64;
};

}  // namespace seam::stages
