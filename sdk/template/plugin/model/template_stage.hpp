/// Stage `template.stage`: a network. TemplateStageNetwork is an ordinary LibTorch module,
/// independent of Seam; the stage around it declares the fields it reads and provides.
#pragma once

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <seam/module.hpp>

#include <cstdint>
#include <string_view>

/// The names in register_module() are those of the weights in checkpoints and imported files. With
/// the names of a network in PyTorch, its weights can be imported unchanged.
class TemplateStageNetworkImpl : public torch::nn::Module {
 public:
  explicit TemplateStageNetworkImpl(std::int64_t dimensions);
  torch::Tensor forward(const torch::Tensor& images);

 private:
  torch::nn::Conv2d conv_;
  torch::nn::Linear embedding_;
};
TORCH_MODULE(TemplateStageNetwork);

/// ModuleStage: handles initial weights, device, precision, import, frozen parts and checkpoints.
class TemplateStage final : public seam::ModuleStage<TemplateStageNetwork> {
 public:
  static constexpr std::string_view name = "template.stage";  // `use` in a pipeline file

  void declare(seam::Declaration& d) override;

 private:
  [[nodiscard]] TemplateStageNetwork make() const override {
    return TemplateStageNetwork(dimensions_);
  }
  void forward(TemplateStageNetwork& network, seam::Packet& packet,
               seam::Context& context) override;

  std::int64_t dimensions_ = 64;  // the default
};
