/// Stage `model.se_resnet50`: SE-ResNet-50 as its authors published it, in Caffe.
///
///     images ──► (embedding), (logits), (feature_map)
#pragma once

#include <string_view>

#include "stages/model/residual_stage.hpp"

namespace seam::stages {

class SeResnet50 final : public ResidualStage {
 public:
  static constexpr std::string_view name = "model.se_resnet50";

  void declare(Declaration& d) override;

 private:
  void choose_network(nn::ResidualOptions& options) const override;
};

}  // namespace seam::stages
