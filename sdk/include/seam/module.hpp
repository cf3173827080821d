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

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "seam/lanes.hpp"
#include "seam/module_weights.hpp"
#include "seam/network.hpp"
#include "seam/tensor.hpp"

namespace seam {

namespace detail {

/// What seam::ModuleStage does for modules of any type; in the library that Seam::tensor links.
class AnyModuleStage : public Compute<Transform>, public Trainable, public DescribesNetwork {
 public:
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet& packet, Context& context) override;
  void end(Context& context) override;
  /// Batches that no optimizer accepted leave no trace, so save() captures the complete state.
  Pause pause(Context& /*context*/) override { return Pause::ready; }
  /// Every parameter and buffer, under the module's own names.
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;
  std::vector<NamedWeight> weights() override;
  void batch_accepted() override;
  [[nodiscard]] NetworkPart describe_network() const override;

 protected:
  /// Name patterns of weights that a file may contain although this network does not have them,
  /// such as a classifier. Any other extra weight is rejected.
  [[nodiscard]] virtual std::vector<std::string> without_place() const { return {}; }

  /// Memory layout of convolution weights. Channels last is usually faster; a network with custom
  /// kernels may need a different one.
  [[nodiscard]] virtual torch::MemoryFormat memory_format() const {
    return torch::MemoryFormat::ChannelsLast;
  }

  /// Declares `weights`, `freeze` and so on; call it at the end of declare().
  void declare_module(Declaration& d);

 private:
  enum class ModulePrecision : std::uint8_t { as_run, float32, bfloat16 };

  virtual void make_any_module() = 0;
  [[nodiscard]] virtual torch::nn::Module& any_module() const = 0;
  virtual void forward_any_module(Packet& packet, Context& context) = 0;

  [[nodiscard]] ProvisionalState::Named buffers() const;
  /// One pass of the network.
  void pass(Packet& packet, Context& context);
  [[nodiscard]] LaneNetwork lane_network(const Context& context);
  void lay_out();

  WeightSettings settings_;
  std::vector<std::string> reads_;       // fields; only in a run with lanes
  std::map<std::string, double> rates_;  // by parameter, if set in `rates`
  ModulePrecision precision_ = ModulePrecision::as_run;
  ProvisionalState statistics_;
  std::int64_t batches_ = 0;  // training batches in this flow
  std::int64_t accepted_ = 0;
};

}  // namespace detail

/// A stage around one module. `M` is the holder created by TORCH_MODULE.
template <class M>
class ModuleStage : public detail::AnyModuleStage {
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

  [[nodiscard]] M& net() { return module_; }

 private:
  void make_any_module() final { module_ = make(); }
  [[nodiscard]] torch::nn::Module& any_module() const final { return *module_.ptr(); }
  void forward_any_module(Packet& packet, Context& context) final {
    forward(module_, packet, context);
  }

  M module_{nullptr};
};

}  // namespace seam
