/// Stage `model.torchscript`: a network that Python exported with torch.jit.trace or
/// torch.jit.script.
///
///     images ──► embedding, or a feature_map for a head
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/script.h>
#include <seam/module.hpp>

namespace seam::nn {

/// The exported module as a torch::nn::Module: its parameters and buffers have the same names as in
/// Python, and modes, devices and gradients work as for any other module.
class ScriptModuleImpl : public torch::nn::Module {
 public:
  /// Reads a file written by torch.jit.save. Throws seam::Error if it is not one, or if the network
  /// would stay in training mode in evaluation.
  explicit ScriptModuleImpl(const std::filesystem::path& file);
  /// This part and those below. Shares its tensors.
  explicit ScriptModuleImpl(torch::jit::Module script);

  /// What Python's forward returns: a tensor, or a tuple of tensors. Throws seam::Error with the
  /// message of an exception that it raises.
  torch::IValue forward(const Tensor& images);
  void train(bool on) override;
  /// The attributes that forward both reads and assigns, but that are not buffers.
  [[nodiscard]] const std::vector<std::string>& unsaved() const { return unsaved_; }

 private:
  /// A buffer that forward assigns instead of changing it in place.
  struct Assigned {
    torch::jit::Module part;
    std::string name;
    Tensor buffer;  // the registered one
  };

  void find_assigned(std::shared_ptr<torch::jit::Graph>& graph);
  torch::IValue run(const Tensor& images);

  torch::jit::Module script_;
  std::vector<Assigned> assigned_;
  std::vector<std::string> unsaved_;
};
TORCH_MODULE(ScriptModule);

}  // namespace seam::nn

namespace seam::stages {

class Torchscript final : public ModuleStage<nn::ScriptModule> {
 public:
  static constexpr std::string_view name = "model.torchscript";

  enum class Provides : std::uint8_t { embedding, feature_map };

  void declare(Declaration& d) override;
  void begin(Context& context) override;

 private:
  [[nodiscard]] nn::ScriptModule make() const override { return nn::ScriptModule(file_); }
  void forward(nn::ScriptModule& net, Packet& packet, Context& context) override;
  /// The tensor at `output_`. Throws seam::Error if there is none, or if it is not what the stage
  /// provides for this number of images.
  [[nodiscard]] Tensor output_in(const torch::IValue& result, std::int64_t images) const;

  std::filesystem::path file_;
  std::int64_t output_ = 0;
  Provides provides_ = Provides::embedding;
  std::optional<std::int64_t> dimensions_;
  bool unit_length_ = false;
  bool has_begun_training_ = false;
};

}  // namespace seam::stages
