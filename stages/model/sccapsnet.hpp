/// Stage `model.sccapsnet`: the triplet capsule network with stacked convolutions.
///
///     images, (training: categories, groups, roles) ──► capsules, class_lengths,
///                                                        predicted_category, embedding
#pragma once

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

}  // namespace seam::stages
