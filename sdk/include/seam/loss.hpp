// SPDX-License-Identifier: Apache-2.0
/// A loss as a stage. Losses add up: an optimizer after several of them trains their sum.
///
///     model -> triplet_loss -> category_loss -> adam
///                 loss = w1·L1    loss = w1·L1 + w2·L2
///
///     class Centre final : public seam::Loss {
///      public:
///       static constexpr std::string_view name = "loss.centre";
///       void declare(Declaration& d) override {
///         d.doc("Embeddings near the origin.");
///         d.needs(field::embedding);
///         declare_loss(d);
///       }
///       Tensor compute(const Packet& packet, Context&) override {
///         const Tensor squares = packet.get(field::embedding).square().sum(1);
///         measure("longest", squares.max().sqrt());
///         return squares.mean();
///       }
///     };
///
/// A loss with its own weights, such as proxies, overrides weights(), save() and load(), and
/// declares keeps_state(). Opt-in, like <seam/tensor.hpp>, which it includes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "seam/tensor.hpp"

namespace seam {

/// Multiplies the result of compute() by the parameter `weight`, adds it to the preceding loss, and
/// records metrics: `loss`, the result of compute(); `total`, the weighted sum that the next stage
/// gets; and the values measured by compute(). In training, only batches that the optimizer
/// accepted are recorded, so that skipped ones are not in a mean. In evaluation there is one value
/// per flow, in which batches are weighted by their rows, so that it does not depend on how images
/// are divided into batches. There, a batch with a non-finite loss is an error, because no
/// optimizer checks it.
class Loss : public Compute<Transform>, public Trainable {
 public:
  void begin(Context& /*context*/) final {
    processed_.clear();
    accepted_.clear();
    evaluated_.clear();
  }

  void process(Packet& packet, Context& context) final {
    record_accepted(context);
    processed_.clear();
    measured_.clear();
    const Tensor part = checked(compute(packet, context));
    Tensor total = weight_ == 1 ? part : part * weight_;
    // Without a gradient of zeros: weight decay changes every weight that has a gradient.
    if (weight_ == 0) total = torch::zeros_like(part.detach());
    if (packet.has(field::loss)) total = packet.get(field::loss) + total;
    processed_.emplace_back(metric_name::loss, part.detach());
    processed_.emplace_back("total", total.detach());
    std::move(measured_.begin(), measured_.end(), std::back_inserter(processed_));
    packet.set(field::loss, std::move(total));
    if (!context.training()) add_evaluated(rows_of(packet));
  }

  void end(Context& context) final {
    record_accepted(context);
    for (const Evaluated& metric : evaluated_) {
      context.metric(metric.name, metric.rows > 0 ? metric.sum / metric.rows
                                                  : std::numeric_limits<double>::quiet_NaN());
    }
    evaluated_.clear();
  }

  Pause pause(Context& context) final {
    record_accepted(context);
    return evaluated_.empty() ? Pause::ready : Pause::unsupported;  // its sums are not saved
  }

  std::vector<NamedWeight> weights() override { return {}; }
  /// Override this, and call the base class, in a loss that keeps other state besides weights.
  void batch_accepted() override { accepted_ = take_processed(); }

 protected:
  /// Declares `weight`, the field `loss` and the interface for optimizers; call it at the end of
  /// declare().
  void declare_loss(Declaration& d) {
    d.parameter("weight", weight_,
                "weight of this loss in the total loss; 0: it is only measured, and trains nothing")
        .range(0, 1e9);
    d.accepts(field::loss).doc("sum of the preceding losses");
    d.provides(field::loss).doc("sum including this loss");
    d.offers<Trainable>(*this);
  }

  /// Returns the unweighted loss of a batch: a scalar tensor with gradient. The fields are float32
  /// whatever the network computed in; stay in it. Throws seam::Error if the batch has no loss.
  [[nodiscard]] virtual Tensor compute(const Packet& packet, Context& context) = 0;

  /// For compute(): a number of this batch, recorded as a metric when the batch is accepted. A
  /// tensor with one element is read only then, together with the others of the batch: the
  /// optimizer has just waited for the device to check loss and gradient.
  void measure(std::string name, const Tensor& value) {
    if (value.numel() != 1) {
      throw Error("metric '" + name + "' of a loss must have one element, not " +
                      std::to_string(value.numel()),
                  Fault::internal);
    }
    measured_.emplace_back(std::move(name), value.detach());
  }
  void measure(std::string name, double value) {
    measured_.emplace_back(std::move(name), torch::scalar_tensor(value, torch::kFloat64));
  }

 private:
  using Measured = std::vector<std::pair<std::string, Tensor>>;
  using Numbers = std::vector<std::pair<std::string, double>>;

  /// A metric over the batches of an evaluation that have a value for it.
  struct Evaluated {
    std::string name;
    double sum = 0;
    double rows = 0;
  };

  /// Of the batch; 1 if no field has rows.
  static double rows_of(const Packet& packet) {
    for (const Packet::Slot& slot : packet.slots()) {
      if (!slot.by_row || slot.type->rows == nullptr) continue;
      const std::int64_t rows = slot.type->rows(slot.value.get());
      if (rows > 0) return static_cast<double>(rows);
    }
    return 1;
  }

  [[nodiscard]] Numbers take_processed() {
    std::vector<Tensor> tensors;
    for (const auto& measured : processed_) tensors.push_back(measured.second);
    const std::vector<double> values = numbers_in(tensors);
    Numbers numbers;
    for (std::size_t at = 0; at < values.size(); ++at) {
      numbers.emplace_back(std::move(processed_[at].first), values[at]);
    }
    processed_.clear();
    return numbers;
  }

  void add_evaluated(double rows) {
    const Numbers numbers = take_processed();
    require_finite(numbers.at(0).second);
    require_finite(numbers.at(1).second);
    for (const auto& number : numbers) {
      const std::string& name = number.first;
      const auto known = std::find_if(evaluated_.begin(), evaluated_.end(),
                                      [&](const Evaluated& metric) { return metric.name == name; });
      Evaluated& metric =
          known != evaluated_.end() ? *known : evaluated_.emplace_back(Evaluated{name, 0, 0});
      if (std::isnan(number.second)) continue;
      metric.sum += rows * number.second;
      metric.rows += rows;
    }
  }

  static Tensor checked(const Tensor& loss) {
    if (!loss.defined() || loss.dim() != 0 || !loss.is_floating_point()) {
      throw Error("compute() of a loss must return a scalar floating-point tensor, but returned " +
                      (loss.defined() ? element_name(loss.scalar_type()) + " of " +
                                            std::to_string(loss.dim()) + " dimensions"
                                      : std::string("an undefined tensor")),
                  Fault::internal);
    }
    return loss.scalar_type() == torch::kFloat32 ? loss : loss.to(torch::kFloat32);
  }

  static void require_finite(double value) {
    if (std::isfinite(value)) return;
    throw Error(std::string("the loss of this batch is ") +
                (std::isnan(value) ? "NaN" : "infinite") +
                ", so no mean can be reported; check the weights and the batch's fields for "
                "non-finite values");
  }

  void record_accepted(const Context& context) {
    for (const auto& [metric, value] : accepted_) context.metric(metric, value);
    accepted_.clear();
  }

  double weight_ = 1;
  Measured measured_;   // by the current compute()
  Measured processed_;  // of the last batch
  Numbers accepted_;    // of the last training batch, once it may be recorded
  std::vector<Evaluated> evaluated_;
};

}  // namespace seam
