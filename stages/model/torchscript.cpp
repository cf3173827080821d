#include "stages/model/torchscript.hpp"

#include <algorithm>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/graph_iterator.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/types.h>

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

/// Returns a copy of forward's graph with all calls inlined, or null if there is no forward.
std::shared_ptr<torch::jit::Graph> inlined_forward(const torch::jit::Module& script) {
  const auto forward = script.find_method("forward");
  if (!forward) return nullptr;
  std::shared_ptr<torch::jit::Graph> graph = forward->graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

/// The nodes of this kind, including those in branches and loops.
std::vector<const torch::jit::Node*> nodes_of(std::shared_ptr<torch::jit::Graph>& graph,
                                              torch::jit::Symbol kind) {
  std::vector<const torch::jit::Node*> nodes;
  torch::jit::DepthFirstGraphNodeIterator all(graph);
  while (const torch::jit::Node* node = all.next()) {
    if (node->kind() == kind) nodes.push_back(node);
  }
  return nodes;
}

std::string attribute_of(const torch::jit::Node& node) {
  return node.s(torch::jit::attr::name);
}

/// Whether `input` of the node is this constant.
template <class Number>
bool is_constant(const torch::jit::Node& node, const char* input, Number number) {
  const auto value = torch::jit::toIValue(node.namedInput(input));
  return value && *value == torch::IValue(number);
}

bool always_uses_batch_statistics(const torch::jit::Node& node) {
  return node.kind() == torch::jit::Symbol::fromQualString("aten::batch_norm") &&
         is_constant(node, "training", true) && !node.namedInput("running_mean")->mustBeNone();
}

bool always_drops(const torch::jit::Node& node) {
  constexpr std::array<std::string_view, 4> operations{"aten::dropout", "aten::feature_dropout",
                                                       "aten::alpha_dropout",
                                                       "aten::feature_alpha_dropout"};
  std::string_view name = node.kind().toQualString();
  if (name.ends_with('_')) name.remove_suffix(1);  // in place
  return std::ranges::find(operations, name) != operations.end() &&
         is_constant(node, "train", true) && !is_constant(node, "p", 0.0);
}

/// Throws seam::Error if the network stays in training mode in evaluation. Constant dropout is
/// deliberate if the network reads its mode elsewhere or was exported after eval().
void refuse_training_mode(const torch::jit::Module& script,
                          std::shared_ptr<torch::jit::Graph>& graph,
                          const std::filesystem::path& file) {
  const auto modes = nodes_of(graph, torch::jit::prim::GetAttr);
  const bool follows_mode = std::ranges::any_of(
      modes, [](const auto* node) { return attribute_of(*node) == "training"; });
  const bool may_drop = follows_mode || !script.attr("training", false).toBool();
  for (const torch::jit::Node* node : graph->nodes()) {  // not in branches: a trace has none
    if (!always_uses_batch_statistics(*node) && (may_drop || !always_drops(*node))) continue;
    throw Error("the network in '" + file.string() + "' computes " + node->kind().toQualString() +
                    " in training mode even in evaluation, like a trace of a network in training "
                    "mode; call network.eval() before the export, or export the network with "
                    "torch.jit.script",
                Fault::configuration);
  }
}

}  // namespace

ScriptModuleImpl::ScriptModuleImpl(const std::filesystem::path& file)
    : ScriptModuleImpl(loaded(file)) {
  auto graph = inlined_forward(script_);
  if (graph == nullptr) return;
  refuse_training_mode(script_, graph, file);
  find_assigned(graph);
}

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

void ScriptModuleImpl::find_assigned(std::shared_ptr<torch::jit::Graph>& graph) {
  std::set<std::string> read;
  for (const auto* node : nodes_of(graph, torch::jit::prim::GetAttr)) {
    read.insert(attribute_of(*node));
  }
  std::set<std::string> buffers;
  std::set<std::string> others;
  for (const auto* node : nodes_of(graph, torch::jit::prim::SetAttr)) {
    const std::string name = attribute_of(*node);
    const auto owner = node->inputs()[0]->type()->expect<torch::jit::ClassType>();
    if (owner->is_buffer(owner->getAttributeSlot(name))) {
      buffers.insert(name);
    } else if (read.contains(name)) {
      others.insert(name);
    }
  }
  unsaved_.assign(others.begin(), others.end());
  if (buffers.empty()) return;
  for (const torch::jit::Module& part : script_.modules()) {
    for (const auto& buffer : part.named_buffers(/*recurse=*/false)) {
      if (buffers.contains(buffer.name)) assigned_.push_back({part, buffer.name, buffer.value});
    }
  }
}

torch::IValue ScriptModuleImpl::forward(const Tensor& images) {
  // A backward pass may need the buffer as it was before the assignment.
  for (Assigned& one : assigned_) one.part.setattr(one.name, one.buffer.clone());
  torch::IValue result = run(images);
  const torch::NoGradGuard no_gradient;
  for (Assigned& one : assigned_) {
    const Tensor value = one.part.attr(one.name).toTensor();
    if (value.sizes() == one.buffer.sizes()) {
      one.buffer.copy_(value);
    } else if (is_training()) {
      throw Error("the network assigns a tensor " + shape_text(value.sizes()) + " to buffer '" +
                      one.name + "' with the shape " + shape_text(one.buffer.sizes()) +
                      "; checkpoints can only save it if its shape does not change",
                  Fault::configuration);
    }
  }
  return result;
}

torch::IValue ScriptModuleImpl::run(const Tensor& images) {
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
    d.provides(field::feature_map).contract("f32[N," + dimension_of(known, "C") + ",h,w]");
  }
  declare_module(d);
}

void Torchscript::begin(Context& context) {
  ModuleStage::begin(context);
  if (!context.training() || std::exchange(has_begun_training_, true)) return;
  const std::string where = "the network in '" + file_.string() + "' ";
  if (net()->parameters().empty()) {
    context.warn(where + "has no parameters, as after torch.jit.freeze, so it is not trained");
  }
  for (const std::string& name : net()->unsaved()) {
    context.warn(where + "assigns '" + name +
                 "', which checkpoints do not contain; if results depend on its value from batch "
                 "to batch, make it a buffer");
  }
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
