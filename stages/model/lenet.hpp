/// Stage `model.lenet`: LeNet-5 with an embedding.
///
///     images ──► embedding
#pragma once

#include <seam/module.hpp>

#include <string_view>

#include "stages/nn/lenet.hpp"

namespace seam::stages {

class LeNet final : public ModuleStage<nn::LeNet> {
 public:
  static constexpr std::string_view name = "model.lenet";

  void declare(Declaration& d) override;

 private:
  [[nodiscard]] nn::LeNet make() const override { return nn::LeNet(options_); }
  void forward(nn::LeNet& net, Packet& packet, Context& context) override;

  nn::LeNetOptions options_;
};

}  // namespace seam::stages
