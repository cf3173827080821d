/// Stages `model.sccapsnet` and `model.rccapsnet`, the triplet capsule networks with stacked
/// convolutions and with residual blocks, and `model.sccapsnet_cls` and `model.rccapsnet_cls`, the
/// same as classifiers. These are trained by loss.margin, with a decoder (model.capsule_decoder)
/// and loss.reconstruction.
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

  Sccapsnet() : CapsuleStage(nn::sccapsnet_as_released(), nn::sccapsnet_as_published()) {}

  void declare(Declaration& d) override {
    d.doc(
        "SCCapsNet, the stacked-convolution capsule network for clothing retrieval (Kınlı 2019). "
        "Four 7x7 convolutions of stride 2, primary capsules, and dynamic routing with one weight "
        "matrix shared by all input capsules. With the defaults it has 2,425,536 weights and "
        "running statistics. Any image size.");
    declare_network(d);
  }
};

class Rccapsnet final : public CapsuleStage {
 public:
  static constexpr std::string_view name = "model.rccapsnet";

  Rccapsnet() : CapsuleStage(nn::rccapsnet_as_released(), nn::rccapsnet_as_published()) {}

  void declare(Declaration& d) override {
    d.doc(
        "RCCapsNet, the residual capsule network for clothing retrieval (Kınlı 2019). A 7x7 "
        "convolution and three residual blocks, all of stride 2, primary capsules, and dynamic "
        "routing with one weight matrix shared by all input capsules. With the defaults it has "
        "4,845,952 weights and running statistics. Any image size.");
    declare_network(d);
  }
};

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
