/// A module that Python exported with torch.jit.trace or torch.jit.script, as a torch::nn::Module:
/// its parameters and buffers have the same names as in Python, and modes, devices and gradients
/// work as for any other module.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/script.h>

#include <filesystem>

namespace seam::nn {

class ScriptModuleImpl : public torch::nn::Module {
 public:
  /// Reads a file written by torch.jit.save. Throws seam::Error if it is not one.
  explicit ScriptModuleImpl(const std::filesystem::path& file);
  /// This part and those below. Shares its tensors.
  explicit ScriptModuleImpl(torch::jit::Module script);

  /// What Python's forward returns: a tensor, or a tuple of tensors.
  torch::IValue forward(const torch::Tensor& images);
  void train(bool on) override;

 private:
  torch::jit::Module script_;
};
TORCH_MODULE(ScriptModule);

}  // namespace seam::nn
