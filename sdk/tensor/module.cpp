#include "seam/module.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace seam::detail {
namespace {

/// Replaces the packet's tensors for which `change` returns one.
template <class Change>
void change_fields(Packet& packet, const Change& change) {
  const std::vector<Packet::Slot> slots = packet.slots();
  for (Packet::Slot slot : slots) {
    if (slot.type->name != type_name<Tensor>()) continue;
    const Tensor& tensor = *static_cast<const Tensor*>(slot.value.get());
    if (!tensor.defined()) continue;
    Tensor changed = change(tensor);
    if (!changed.defined()) continue;
    slot.value = std::make_shared<Tensor>(std::move(changed));
    packet.put(std::move(slot));
  }
}

/// Fields are moved to the run's device by the first stage that computes with them, and stay
/// there.
void move_fields(Packet& packet, const torch::Device& device) {
  change_fields(packet, [&](const Tensor& tensor) {
    return tensor.device() == device ? Tensor() : tensor.to(device);
  });
}

/// The stage provides fields in float32, so that later comparisons and sums are precise.
void widen_fields(Packet& packet) {
  change_fields(packet, [&](const Tensor& tensor) {
    const bool narrow =
        tensor.scalar_type() == torch::kBFloat16 || tensor.scalar_type() == torch::kFloat16;
    return narrow ? tensor.to(torch::kFloat32) : Tensor();
  });
}

}  // namespace

void AnyModuleStage::open(Context& context) {
  if (context.lanes().count > 1) {
    Declaration declared;
    this->declare(declared);
    reads_ = fields_read_by_row(declared.description(), std::string(context.stage()));
  }
  // The weights do not depend on the rest of the pipeline.
  torch::manual_seed(context.random_of_run().bits64());
  make_any_module();
  const std::string stage(context.stage());
  import_weights(any_module(), settings_, stage, without_place());
  any_module().to(device_of(context));
  lay_out();
  freeze_parameters(any_module(), settings_, stage);
  rates_ = rates_by_name(any_module(), settings_.rates, stage);
  context.debug(to_text(describe_network()));
}

void AnyModuleStage::begin(Context& context) {
  statistics_.restore(buffers());
  batches_ = 0;
  accepted_ = 0;
  set_training_mode(any_module(), context.training());
}

void AnyModuleStage::process(Packet& packet, Context& context) {
  move_fields(packet, device_of(context));
  if (context.training()) {
    statistics_.begin_batch(buffers());
    ++batches_;
  }
  if (context.lanes().count > 1) {
    compute_in_lanes(packet, lane_network(context), context);
  } else {
    pass(packet, context);
  }
}

void AnyModuleStage::end(Context& context) {
  statistics_.restore(buffers());
  if (batches_ == 0 || accepted_ > 0 || weights().empty()) return;
  context.warn("no optimizer accepted any of the " + std::to_string(batches_) +
               (batches_ == 1 ? " training batch" : " training batches") +
               " of this flow, so the running statistics are unchanged");
}

void AnyModuleStage::save(Archive& archive) const {
  for (const auto& item : any_module().named_parameters()) {
    put_tensor(archive, item.key(), item.value());
  }
  const ProvisionalState::Named current = buffers();
  for (const auto& [buffer, tensor] : statistics_.accepted(current)) {
    put_tensor(archive, buffer, tensor);
  }
}

void AnyModuleStage::load(const Archive& archive) {
  statistics_.accept();  // the open batch is overwritten
  expect_only(archive, any_module());
  for (const auto& [name, tensor] : named_state(any_module())) get_tensor(archive, name, tensor);
}

std::vector<NamedWeight> AnyModuleStage::weights() {
  std::vector<NamedWeight> weights;
  for (const auto& item : any_module().named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const auto factor = rates_.find(item.key());
    weights.push_back({item.key(), item.value(),
                       settings_.rate_scale * (factor == rates_.end() ? 1 : factor->second)});
  }
  return weights;
}

void AnyModuleStage::batch_accepted() {
  statistics_.accept();
  ++accepted_;
}

NetworkPart AnyModuleStage::describe_network() const {
  return network_tree(any_module());
}

void AnyModuleStage::declare_module(Declaration& d) {
  d.parameter("weights", settings_.file,
              "weights to load before training: a safetensors file, or a run folder, from which "
              "the stage with the same name is used")
      .must_exist()
      .initial();
  d.parameter("rename", settings_.rename,
              "maps differing names: \"prefix in the file=prefix in the network\"")
      .initial();
  d.parameter(std::string(skip_parameter), settings_.skip,
              "weights that are not imported and keep their initial values; * matches anything")
      .initial();
  d.parameter(
      "freeze", settings_.freeze,
      "weights that are not trained; * matches anything, [\"*\"] freezes the whole network. "
      "Batch normalisation and dropout in frozen parts run in evaluation mode");
  d.parameter("rate_scale", settings_.rate_scale, "factor on the optimizer's learning rate")
      .range(0, 1e6);
  d.parameter("rates", settings_.rates,
              "learning rate factors of single weights, \"PATTERN=FACTOR\", multiplied by "
              "rate_scale; * matches anything, and the last pattern that matches counts");
  d.parameter("precision", precision_, "precision in which the network computes",
              {{"run", ModulePrecision::as_run},
               {"float32", ModulePrecision::float32},
               {"bfloat16", ModulePrecision::bfloat16}});
  d.offers<Trainable>(*this);
  d.offers<DescribesNetwork>(*this);
  d.keeps_state();
}

ProvisionalState::Named AnyModuleStage::buffers() const {
  ProvisionalState::Named named;
  for (const auto& item : any_module().named_buffers())
    named.emplace_back(item.key(), item.value());
  return named;
}

void AnyModuleStage::pass(Packet& packet, Context& context) {
  // Random numbers in forward() belong to the packet: the same for any number of threads and
  // after a resume.
  torch::manual_seed(context.random(packet).bits64());
  const bool bfloat16 = precision_ == ModulePrecision::as_run
                            ? context.precision() == Precision::bfloat16
                            : precision_ == ModulePrecision::bfloat16;
  {
    const Autocast autocast(device_of(context).type(),
                            bfloat16 ? Precision::bfloat16 : Precision::float32);
    forward_any_module(packet, context);
  }
  if (bfloat16) widen_fields(packet);
}

LaneNetwork AnyModuleStage::lane_network(const Context& context) {
  LaneNetwork network;
  network.pass = [this](Packet& rows, Context& of_lane) { pass(rows, of_lane); };
  network.reads = reads_;
  for (const Tensor& weight : any_module().parameters()) {
    const auto same = [&](const Tensor& one) { return one.is_same(weight); };
    if (!weight.requires_grad() || std::ranges::any_of(network.weights, same)) continue;
    network.weights.push_back(weight);
  }
  if (!context.training()) return network;  // buffers do not change
  const ProvisionalState::Named current = buffers();
  for (const auto& [name, tensor] : current) network.buffers.push_back(tensor);
  for (const auto& [name, tensor] : statistics_.accepted(current)) {
    network.buffers_before.push_back(tensor);
  }
  return network;
}

void AnyModuleStage::lay_out() {
  const torch::NoGradGuard no_gradient;
  for (Tensor& parameter : any_module().parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(memory_format()));
  }
}

}  // namespace seam::detail
