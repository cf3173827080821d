/// Stage `model.resnet`: a residual network with an embedding, a classifier, or both.
///
///     images ──► (embedding), (logits), (feature_map)
#pragma once

#include <cstdint>
#include <string_view>

#include "stages/model/residual_stage.hpp"

namespace seam::stages {

class Resnet final : public ResidualStage {
 public:
  static constexpr std::string_view name = "model.resnet";

  void declare(Declaration& d) override;

 private:
  enum class Architecture : std::uint8_t { resnet18, resnet34, resnet50 };

  void choose_network(nn::ResidualOptions& options) const override;

  Architecture architecture_ = Architecture::resnet18;
  nn::ResidualStem stem_ = nn::ResidualStem::imagenet;
  bool squeeze_excitation_ = false;
};

}  // namespace seam::stages
