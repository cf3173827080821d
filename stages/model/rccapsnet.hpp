/// Stage `model.rccapsnet`: the triplet capsule network with residual blocks.
///
///     images, (training: categories, groups, roles) ──► capsules, class_lengths,
///                                                        predicted_category, embedding
#pragma once

#include <string_view>

#include "stages/model/capsule_stage.hpp"

namespace seam::stages {

class Rccapsnet final : public CapsuleStage {
 public:
  static constexpr std::string_view name = "model.rccapsnet";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::NetworkOptions preset(Preset which) const override;
};

}  // namespace seam::stages
