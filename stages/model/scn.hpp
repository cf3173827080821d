/// Stage `model.scn`: the Siamese capsule network.
///
///     images ──► embedding, capsules
///
/// Both images of a pair go through it as rows of one batch. Train it with loss.contrastive or
/// loss.double_margin.
#pragma once

#include <string_view>

#include "stages/model/siamese_stage.hpp"

namespace seam::stages {

class Scn final : public SiameseStage {
 public:
  static constexpr std::string_view name = "model.scn";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] std::optional<nn::ConcreteDropoutOptions> concrete_dropout() const override {
    return std::nullopt;
  }
};

}  // namespace seam::stages
