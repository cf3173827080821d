/// Stage `model.inception`: the first blocks of Inception v3 with an embedding.
///
///     images ──► embedding
#pragma once

#include <seam/module.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "stages/nn/inception.hpp"

namespace seam::stages {

class Inception final : public ModuleStage<nn::Inception> {
 public:
  static constexpr std::string_view name = "model.inception";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::Inception make() const override { return nn::Inception(options_); }
  void forward(nn::Inception& net, Packet& packet, Context& context) override;
  /// torchvision's classifiers, and the omitted blocks.
  [[nodiscard]] std::vector<std::string> without_place() const override;

  nn::InceptionOptions options_;
};

}  // namespace seam::stages
