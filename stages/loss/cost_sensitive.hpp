/// Stage `loss.cost_sensitive`: the mean cost of confusing one class with another, under a
/// network's probabilities, in addition to a cross entropy.
///
///     p = softmax(logits) ──► mean over rows of Σ_k M[y,k] p_k
///
/// Galdran et al., "Cost-Sensitive Regularization for Diabetic Retinopathy Grading from Eye Fundus
/// Images", MICCAI 2020. Only the rows of M that a batch needs are made: O(N K), whatever the
/// number of classes.
#pragma once

#include "stages/loss/base/class_loss.hpp"

namespace seam::stages {

/// `logits` [N,K], `costs` [N,K]: the rows M[y] of the labels.
[[nodiscard]] Tensor cost_sensitive_loss(const Tensor& logits, const Tensor& costs);

/// Rows of costs [N,K] like `logits`, of `labels` i64[N] from 0 to K - 1. Every other class
/// costs 1.
[[nodiscard]] Tensor nominal_costs(const Tensor& logits, const Tensor& labels);
/// `within` for classes in the same super-class, 1 for others. `super_classes` i64[K].
[[nodiscard]] Tensor super_class_costs(const Tensor& logits, const Tensor& labels,
                                       const Tensor& super_classes, double within);
/// (y - k)² / (K - 1)²: the loss is (y - μ)² + Var under the probabilities, in those units.
[[nodiscard]] Tensor ordinal_costs(const Tensor& logits, const Tensor& labels);

/// f64 [K,K] from a CSV file: one line per class with K costs, which are finite, not negative and 0
/// for the class itself. Throws seam::Error naming the file and the line.
[[nodiscard]] Tensor read_costs(const std::filesystem::path& file);

class CostSensitive final : public ClassLoss {
 public:
  static constexpr std::string_view name = "loss.cost_sensitive";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  enum class Costs : std::uint8_t { nominal, super_class, ordinal, file };

  Tensor compute(const Packet& packet, Context& context) override;
  /// Throws seam::Error for parameters that the kind of costs needs and lacks, or does not read.
  void check_parameters() const;
  [[nodiscard]] Tensor costs(const Tensor& logits, const Tensor& labels) const;

  Costs kind_ = Costs::nominal;
  std::vector<std::int64_t> super_classes_;
  double within_ = 0.5;
  std::optional<std::filesystem::path> file_;
  Tensor table_;  // of super_class i64[K], of file f32[K,K], on the run's device
};

}  // namespace seam::stages
