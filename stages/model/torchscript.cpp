#include "stages/model/torchscript.hpp"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/types.h>
#include <seam/contract.hpp>
#include <seam/error.hpp>

#include <memory>
#include <string>
#include <utility>

#include "stages/nn/embedding.hpp"

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

torch::IValue ScriptModuleImpl::forward(const Tensor& images) {
  // The graph as it was exported: the executor would time it and change it from call to call.
  const torch::jit::GraphOptimizerEnabledGuard as_written(false);
  try {
    return script_.forward({images});
  } catch (const torch::jit::JITException& raised) {
    throw Error(
        "the network raises an exception: " + raised.getOriginalMsg().value_or(raised.what()),
        Fault::configuration);
  }
}

void ScriptModuleImpl::train(bool on) {
  torch::nn::Module::train(on);
  script_.train(on);
}

}  // namespace seam::nn

namespace seam::stages {

void Torchscript::declare(Declaration& d) {
  d.doc(
      "A network that Python exported with torch.jit.trace or torch.jit.script, for computing "
      "embeddings or further training.");
  d.parameter("file", file_, "file written by torch.jit.save").required().must_exist();
  d.parameter("output", output_,
              "index of the result to use if the network returns a tuple, from 0")
      .range(0, 1000);
  d.parameter(
      "provides", provides_,
      "what this result is: the embedding, or a feature map, from which another stage makes "
      "the embedding",
      {{"embedding", Provides::embedding}, {"feature_map", Provides::feature_map}});
  d.parameter(
       "dimensions", dimensions_,
       "elements of the embedding, or channels of the feature map, for stages that depend on "
       "them")
      .range(1, 1048576);
  d.parameter("unit_length", unit_length_, "whether to scale the embedding to length 1")
      .only_with("provides", "embedding");
  d.needs(field::images);
  const std::int64_t known = dimensions_.value_or(0);
  if (provides_ == Provides::embedding) {
    d.provides(field::embedding).contract("f32[N," + dimension_of(known, "E") + "]");
  } else {
    d.provides(field::feature_map).contract("f32[N," + dimension_of(known, "C") + ",H,W]");
  }
  declare_module(d);
}

void Torchscript::forward(nn::ScriptModule& net, Packet& packet, Context& /*context*/) {
  const Tensor images = packet.get(field::images);
  const Tensor output = output_in(net->forward(images), images.size(0));
  if (provides_ == Provides::feature_map) {
    packet.set(field::feature_map, output);
    return;
  }
  const Tensor embedding = output.to(torch::kFloat32);
  packet.set(field::embedding, unit_length_ ? nn::unit(embedding) : embedding);
}

Tensor Torchscript::output_in(const torch::IValue& result, std::int64_t images) const {
  const std::string where = "the network in '" + file_.string() + "' ";
  torch::IValue value = result;
  if (result.isTuple()) {
    const auto& elements = result.toTupleRef().elements();
    if (output_ >= static_cast<std::int64_t>(elements.size())) {
      throw Error(where + "returns " + std::to_string(elements.size()) + " results, so 'output' " +
                      std::to_string(output_) + " does not exist",
                  Fault::configuration);
    }
    value = elements[static_cast<std::size_t>(output_)];
  } else if (output_ != 0) {
    throw Error(where + "returns one result: 'output' can only be 0", Fault::configuration);
  }
  if (!value.isTensor()) {
    throw Error(where + "returns a " + value.tagKind() + " instead of a tensor",
                Fault::configuration);
  }
  const Tensor tensor = value.toTensor();
  const auto refused = [&](const std::string& advice) {
    return Error(where + "returns a tensor " + shape_text(tensor.sizes()) + " for " +
                     std::to_string(images) + " images; " + advice,
                 Fault::configuration);
  };
  const bool map = provides_ == Provides::feature_map;
  if (tensor.dim() != (map ? 4 : 2) || tensor.size(0) != images) {
    throw refused(map ? "a feature map must be [N,C,H,W], as from a network without its pooling"
                      : "an embedding must have one row per image, as from a network that ends in "
                        "pooling and flatten(1)");
  }
  if (dimensions_ && tensor.size(1) != *dimensions_) {
    throw refused("set `dimensions = " + std::to_string(tensor.size(1)) + "`");
  }
  return tensor;
}

}  // namespace seam::stages
