#include "stages/nn/script_module.hpp"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <seam/error.hpp>

#include <memory>
#include <string>
#include <utility>

namespace seam::nn {
namespace {

torch::jit::Module loaded(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw Error("there is no file '" + file.string() +
                    "'; torch.jit.trace(network.eval(), images).save(\"network.pt\") writes one",
                Fault::configuration);
  }
  try {
    return torch::jit::load(file.string(), torch::Device(torch::kCPU));
  } catch (const c10::Error& cause) {
    throw Error("'" + file.string() +
                    "' cannot be read as TorchScript, such as written by "
                    "torch.jit.trace(network.eval(), images).save(\"network.pt\"): " +
                    cause.what_without_backtrace(),
                Fault::configuration);
  }
}

}  // namespace

ScriptModuleImpl::ScriptModuleImpl(const std::filesystem::path& file)
    : ScriptModuleImpl(loaded(file)) {}

ScriptModuleImpl::ScriptModuleImpl(torch::jit::Module script) : script_(std::move(script)) {
  for (const auto& parameter : script_.named_parameters(/*recurse=*/false)) {
    register_parameter(parameter.name, parameter.value, parameter.value.is_floating_point());
  }
  for (const auto& buffer : script_.named_buffers(/*recurse=*/false)) {
    register_buffer(buffer.name, buffer.value);
  }
  for (const auto& child : script_.named_children()) {
    register_module(child.name, std::make_shared<ScriptModuleImpl>(child.value));
  }
}

torch::IValue ScriptModuleImpl::forward(const torch::Tensor& images) {
  // The graph as it was exported: the executor would time it and change it from call to call.
  const torch::jit::GraphOptimizerEnabledGuard as_written(false);
  return script_.forward({images});
}

void ScriptModuleImpl::train(bool on) {
  torch::nn::Module::train(on);
  script_.train(on);
}

}  // namespace seam::nn
