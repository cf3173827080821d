/// Stage `model.alexnet`: AlexNet with an embedding.
///
///     images ──► embedding
#pragma once

#include <seam/module.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "stages/nn/alexnet.hpp"

namespace seam::stages {

class AlexNet final : public ModuleStage<nn::AlexNet> {
 public:
  static constexpr std::string_view name = "model.alexnet";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::AlexNet make() const override { return nn::AlexNet(options_); }
  void forward(nn::AlexNet& net, Packet& packet, Context& context) override;
  /// torchvision's classifier of 1,000 classes.
  [[nodiscard]] std::vector<std::string> without_place() const override {
    return {"classifier.6.*"};
  }

  nn::AlexNetOptions options_;
};

}  // namespace seam::stages
