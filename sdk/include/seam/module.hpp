// SPDX-License-Identifier: Apache-2.0
/// A network as a stage: any torch::nn::Module becomes one in a few lines, with initial weights,
/// device, precision, imports, frozen parts and checkpoints handled here.
///
///     TORCH_MODULE(Perceptron);   // an ordinary LibTorch module
///
///     class PerceptronStage final : public seam::ModuleStage<Perceptron> {
///      public:
///       static constexpr std::string_view name = "model.perceptron";
///       void declare(Declaration& d) override {
///         d.doc("Two dense layers.");
///         d.parameter("hidden", hidden_, "units between them").at_least(1);
///         d.needs(field::images);
///         d.provides(field::embedding);
///         declare_module(d);
///       }
///
///      private:
///       Perceptron make() const override { return Perceptron(hidden_); }
///       void forward(Perceptron& net, Packet& packet, Context&) override {
///         packet.set(field::embedding, net->forward(packet.get(field::images)));
///       }
///       std::int64_t hidden_ = 64;
///     };
///
/// On CPUs, LibTorch's batch normalisation in training and the weight gradients of its convolutions
/// and some dense layers are summed in one part per thread. For bit-identical results with any
/// number of threads, a network must avoid these layers.
///
/// Opt-in, like <seam/tensor.hpp>, which it includes.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "seam/lanes.hpp"
#include "seam/module_weights.hpp"
#include "seam/network.hpp"
#include "seam/tensor.hpp"

namespace seam {

/// A stage around one module. `M` is the holder created by TORCH_MODULE.
template <class M>
class ModuleStage : public Compute<Transform>, public Trainable, public DescribesNetwork {
 public:
  void open(Context& context) override {
    if (context.lanes().count > 1) {
      Declaration declared;
      this->declare(declared);
      reads_ = detail::fields_read_by_row(declared.description(), std::string(context.stage()));
    }
    // The weights do not depend on the rest of the pipeline.
    torch::manual_seed(context.random_of_run().bits64());
    module_ = make();
    const std::string stage(context.stage());
    detail::import_weights(*module(), settings_, stage, without_place());
    module()->to(device_of(context));
    lay_out();
    detail::freeze_parameters(*module(), settings_.freeze, stage);
    rates_ = detail::rates_by_name(*module(), settings_.rates, stage);
    context.debug(to_text(describe_network()));
  }

  void begin(Context& context) override {
    statistics_.restore(buffers());
    batches_ = 0;
    accepted_ = 0;
    detail::set_training_mode(*module(), context.training());
  }

  void process(Packet& packet, Context& context) override {
    move_fields(packet, device_of(context));
    if (context.training()) {
      statistics_.begin_batch(buffers());
      ++batches_;
    }
    if (context.lanes().count > 1) {
      detail::compute_in_lanes(packet, lane_network(context), context);
    } else {
      pass(packet, context);
    }
  }

  void end(Context& context) override {
    statistics_.restore(buffers());
    if (batches_ == 0 || accepted_ > 0 || weights().empty()) return;
    context.warn("no optimizer accepted any of the " + std::to_string(batches_) +
                 (batches_ == 1 ? " training batch" : " training batches") +
                 " of this flow, so the running statistics are unchanged");
  }

  /// Batches that no optimizer accepted leave no trace, so save() captures the complete state.
  Pause pause(Context& /*context*/) override { return Pause::ready; }

  /// Every parameter and buffer, under the module's own names.
  void save(Archive& archive) const override {
    for (const auto& item : module()->named_parameters()) {
      put_tensor(archive, item.key(), item.value());
    }
    const detail::ProvisionalState::Named current = buffers();
    for (const auto& [buffer, tensor] : statistics_.accepted(current)) {
      put_tensor(archive, buffer, tensor);
    }
  }

  void load(const Archive& archive) override {
    statistics_.accept();  // the open batch is overwritten
    detail::expect_only(archive, *module());
    for (const auto& [name, tensor] : detail::named_state(*module())) {
      get_tensor(archive, name, tensor);
    }
  }

  std::vector<NamedWeight> weights() override {
    std::vector<NamedWeight> weights;
    for (const auto& item : module()->named_parameters()) {
      if (!item.value().requires_grad()) continue;
      const auto factor = rates_.find(item.key());
      weights.push_back({item.key(), item.value(),
                         settings_.rate_scale * (factor == rates_.end() ? 1 : factor->second)});
    }
    return weights;
  }

  void batch_accepted() override {
    statistics_.accept();
    ++accepted_;
  }

  [[nodiscard]] NetworkPart describe_network() const override {
    return detail::network_tree(*module());
  }

 protected:
  /// Creates a module with initial weights on the CPU; LibTorch's generator has been seeded. Called
  /// by open(), after the parameters were set.
  [[nodiscard]] virtual M make() const = 0;

  /// Processes one batch: reads and sets fields. They are on the run's device, the module is in the
  /// right mode, the generator is seeded for this packet, and autocast is on with bfloat16.
  /// With `lanes`, it is called for each lane of the batch, on a packet with the lane's rows of the
  /// declared fields, and with LaneMemory::recompute again for the gradient: what it
  /// does must depend on nothing but the packet, the module and the context, and it must neither
  /// record metrics nor write into a tensor that it reads.
  virtual void forward(M& net, Packet& packet, Context& context) = 0;

  /// Name patterns of weights that a file may contain although this network does not have them,
  /// such as a classifier. Any other extra weight is rejected.
  [[nodiscard]] virtual std::vector<std::string> without_place() const { return {}; }

  /// Memory layout of convolution weights. Channels last is usually faster; a network with custom
  /// kernels may need a different one.
  [[nodiscard]] virtual torch::MemoryFormat memory_format() const {
    return torch::MemoryFormat::ChannelsLast;
  }

  /// Declares `weights`, `freeze` and so on; call it at the end of declare().
  void declare_module(Declaration& d) {
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

  [[nodiscard]] M& net() { return module_; }

 private:
  enum class ModulePrecision : std::uint8_t { as_run, float32, bfloat16 };

  [[nodiscard]] torch::nn::Module* module() const { return module_.ptr().get(); }

  [[nodiscard]] detail::ProvisionalState::Named buffers() const {
    detail::ProvisionalState::Named named;
    for (const auto& item : module()->named_buffers()) named.emplace_back(item.key(), item.value());
    return named;
  }

  /// One pass of the network.
  void pass(Packet& packet, Context& context) {
    // Random numbers in forward() belong to the packet: the same for any number of threads and
    // after a resume.
    torch::manual_seed(context.random(packet).bits64());
    const bool bfloat16 = precision_ == ModulePrecision::as_run
                              ? context.precision() == Precision::bfloat16
                              : precision_ == ModulePrecision::bfloat16;
    {
      const Autocast autocast(device_of(context).type(),
                              bfloat16 ? Precision::bfloat16 : Precision::float32);
      forward(module_, packet, context);
    }
    if (bfloat16) widen_fields(packet);
  }

  [[nodiscard]] detail::LaneNetwork lane_network(const Context& context) {
    detail::LaneNetwork network;
    network.pass = [this](Packet& rows, Context& of_lane) { pass(rows, of_lane); };
    network.reads = reads_;
    for (const Tensor& weight : module()->parameters()) {
      const auto same = [&](const Tensor& one) { return one.is_same(weight); };
      if (!weight.requires_grad() || std::ranges::any_of(network.weights, same)) continue;
      network.weights.push_back(weight);
    }
    if (!context.training()) return network;  // buffers do not change
    const detail::ProvisionalState::Named current = buffers();
    for (const auto& [name, tensor] : current) network.buffers.push_back(tensor);
    for (const auto& [name, tensor] : statistics_.accepted(current)) {
      network.buffers_before.push_back(tensor);
    }
    return network;
  }

  void lay_out() {
    const torch::NoGradGuard no_gradient;
    for (Tensor& parameter : module()->parameters()) {
      if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(memory_format()));
    }
  }

  /// Fields are moved to the run's device by the first stage that computes with them, and stay
  /// there.
  static void move_fields(Packet& packet, const torch::Device& device) {
    change_fields(packet, [&](const Tensor& tensor) {
      return tensor.device() == device ? Tensor() : tensor.to(device);
    });
  }

  /// The stage provides fields in float32, so that later comparisons and sums are precise.
  static void widen_fields(Packet& packet) {
    change_fields(packet, [&](const Tensor& tensor) {
      const bool narrow =
          tensor.scalar_type() == torch::kBFloat16 || tensor.scalar_type() == torch::kFloat16;
      return narrow ? tensor.to(torch::kFloat32) : Tensor();
    });
  }

  /// Replaces the packet's tensors for which `change` returns one.
  template <class Change>
  static void change_fields(Packet& packet, const Change& change) {
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

  detail::WeightSettings settings_;
  std::vector<std::string> reads_;       // fields; only in a run with lanes
  std::map<std::string, double> rates_;  // by parameter, if set in `rates`
  ModulePrecision precision_ = ModulePrecision::as_run;
  M module_{nullptr};
  detail::ProvisionalState statistics_;
  std::int64_t batches_ = 0;  // training batches in this flow
  std::int64_t accepted_ = 0;
};

}  // namespace seam
