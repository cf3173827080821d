/// Stage `model.scn`: the Siamese capsule network.
///
///     images ──► embedding, capsules
///
/// Both images of a pair go through it as rows of one batch. Train it with loss.contrastive or
/// loss.double_margin.
#pragma once

#include "stages/model/siamese.hpp"

namespace seam::stages {

class Scn final : public SiameseStage {
 public:
  static constexpr std::string_view name = "model.scn";

  void declare(Declaration& d) override {
    d.doc(
        "The Siamese capsule network SCNet (O'Neill 2018): a convolution, primary capsules, "
        "dynamic routing to face capsules with separate weights for each primary capsule, and a "
        "dense layer whose outputs are compared. Both images of a pair go through it as rows of "
        "one batch.");
    declare_network(d);
  }

 private:
  [[nodiscard]] std::optional<nn::ConcreteDropoutOptions> concrete_dropout() const override {
    return std::nullopt;
  }
};

}  // namespace seam::stages
