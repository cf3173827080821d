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

#include <string>
#include <utility>
#include <vector>

#include "seam/tensor.hpp"

namespace seam {

/// Multiplies the result of compute() by the parameter `weight`, adds it to the preceding loss, and
/// records metrics: `loss`, the result of compute(); `total`, the weighted sum that the next stage
/// gets; and the values measured by compute(). In training, only batches that the optimizer
/// accepted are recorded, so that skipped ones are not in a mean. In evaluation there is one value
/// per flow, in which batches are weighted by their rows, so that a smaller last batch does not
/// count as much as the others; a loss over pairs within a batch still depends on the batches.
/// There, a batch with a non-finite loss is an error, because no optimizer checks it.
class Loss : public Compute<Transform>, public Trainable {
 public:
  void begin(Context& /*context*/) final;
  void process(Packet& packet, Context& context) final;
  void end(Context& context) final;
  Pause pause(Context& context) final;

  std::vector<NamedWeight> weights() override { return {}; }
  /// Override this, and call the base class, in a loss that keeps other state besides weights.
  void batch_accepted() override;

 protected:
  /// Declares `weight`, the field `loss` and the interface for optimizers; call it at the end of
  /// declare().
  void declare_loss(Declaration& d);
  /// The parameter `weight`.
  [[nodiscard]] double weight() const { return weight_; }

  /// Returns the unweighted loss of a batch: a scalar tensor with gradient. The fields are float32
  /// whatever the network computed in; stay in it. Throws seam::Error if the batch has no loss.
  [[nodiscard]] virtual Tensor compute(const Packet& packet, Context& context) = 0;

  /// For compute(): a number of this batch, recorded as a metric when the batch is accepted. A
  /// tensor with one element is read only then, together with the others of the batch: the
  /// optimizer has just waited for the device to check loss and gradient.
  void measure(std::string name, const Tensor& value);
  void measure(std::string name, double value);
  /// Likewise the mean of a value of some rows, or pairs; nothing if there is none. In evaluation,
  /// batches are weighted by the number of values.
  void measure_mean(std::string name, const Tensor& values);

 private:
  using Measured = std::vector<std::pair<std::string, Tensor>>;
  using Numbers = std::vector<std::pair<std::string, double>>;

  /// A metric over the batches of an evaluation that have a value for it.
  struct Evaluated {
    std::string name;
    double sum = 0;
    double rows = 0;  ///< or values of measure_mean()
  };

  /// Of the batch; 1 if no field has rows.
  static double rows_of(const Packet& packet);
  [[nodiscard]] Numbers take_processed();
  void add_evaluated(double rows);
  static Tensor checked(const Tensor& loss);
  static void require_finite(double value);
  void record_accepted(const Context& context);

  double weight_ = 1;
  Measured measured_;   // by the current compute(): numbers [], and the values [P] of means
  Measured processed_;  // of the last batch
  Numbers accepted_;    // of the last training batch, once it may be recorded
  std::vector<Evaluated> evaluated_;
};

}  // namespace seam
