/// Stage `model.sccapsnet_cls`: the capsule network with stacked convolutions as a classifier.
///
///     images ──► capsules, class_lengths, predicted_category, embedding
///
/// It is trained by loss.margin, with a decoder (model.capsule_decoder) and loss.reconstruction.
#pragma once

#include "stages/model/capsule_stage.hpp"

namespace seam::stages {

class SccapsnetCls final : public CapsuleStage {
 public:
  static constexpr std::string_view name = "model.sccapsnet_cls";

  SccapsnetCls()
      : CapsuleStage(nn::sccapsnet_cls_as_released(), nn::sccapsnet_cls_as_published(),
                     TrainMask::none, Towers::together) {}

  void declare(Declaration& d) override {
    d.doc(
        "SCCapsNet-CLS, the classifier with stacked convolutions (Kınlı 2019): one class capsule "
        "per category, whose length shows how much of the category is in the image. As released, "
        "five 9x9 convolutions without padding for images of 224x224, and each primary capsule has "
        "its own weights; as published, the convolutions of SCCapsNet and shared weights.");
    declare_network(d);
  }
};

}  // namespace seam::stages
