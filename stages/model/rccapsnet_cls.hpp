/// Stage `model.rccapsnet_cls`: the capsule network with residual blocks as a classifier.
///
///     images ──► capsules, class_lengths, predicted_category, embedding
///
/// It is trained by loss.margin, with a decoder (model.capsule_decoder) and loss.reconstruction.
#pragma once

#include <string_view>

#include "stages/model/capsule_stage.hpp"

namespace seam::stages {

class RccapsnetCls final : public CapsuleStage {
 public:
  static constexpr std::string_view name = "model.rccapsnet_cls";

  RccapsnetCls() : CapsuleStage(TrainMask::none, Towers::together) {}

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::NetworkOptions preset(Preset which) const override;
};

}  // namespace seam::stages
