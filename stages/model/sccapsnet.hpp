/// Stage `model.sccapsnet`: the triplet capsule network with stacked convolutions.
///
///     images, (training: categories, groups, roles) ──► capsules, class_lengths,
///                                                        predicted_category, embedding
#pragma once

#include <string_view>

#include "stages/model/capsule_stage.hpp"

namespace seam::stages {

class Sccapsnet final : public CapsuleStage {
 public:
  static constexpr std::string_view name = "model.sccapsnet";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::NetworkOptions preset(Preset which) const override;
};

}  // namespace seam::stages
