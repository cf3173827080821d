/// Stage `model.rccapsnet_cls`: the capsule network with residual blocks as a classifier.
///
///     images ──► capsules, class_lengths, predicted_category, embedding
///
/// It is trained by loss.margin, with a decoder (model.capsule_decoder) and loss.reconstruction.
#pragma once

#include "stages/model/capsule_stage.hpp"

namespace seam::stages {

class RccapsnetCls final : public CapsuleStage {
 public:
  static constexpr std::string_view name = "model.rccapsnet_cls";

  RccapsnetCls()
      : CapsuleStage(nn::rccapsnet_cls_as_released(), nn::rccapsnet_cls_as_published(),
                     TrainMask::none, Towers::together) {}

  void declare(Declaration& d) override {
    d.doc(
        "RCCapsNet-CLS, the classifier with residual blocks (Kınlı 2019): one class capsule per "
        "category, whose length shows how much of the category is in the image. As released, a 7x7 "
        "convolution of stride 1 and narrower blocks; as published, the blocks of RCCapsNet. Any "
        "image size.");
    declare_network(d);
  }
};

}  // namespace seam::stages
