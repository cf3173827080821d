/// Stage `model.sccapsnet_cls`: the capsule network with stacked convolutions as a classifier.
///
///     images ──► capsules, class_lengths, predicted_category, embedding
///
/// It is trained by loss.margin, with a decoder (model.capsule_decoder) and loss.reconstruction.
#pragma once

#include <string_view>

#include "stages/model/capsule_stage.hpp"

namespace seam::stages {

class SccapsnetCls final : public CapsuleStage {
 public:
  static constexpr std::string_view name = "model.sccapsnet_cls";

  SccapsnetCls() : CapsuleStage(TrainMask::none, Towers::together) {}

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::NetworkOptions preset(Preset which) const override;
};

}  // namespace seam::stages
