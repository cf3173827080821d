/// Stage `model.rccapsnet`: the triplet capsule network with residual blocks.
///
///     images, (training: categories, groups, roles) ──► capsules, class_lengths,
///                                                        predicted_category, embedding
#pragma once

#include "stages/model/capsule_stage.hpp"

namespace seam::stages {

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

}  // namespace seam::stages
