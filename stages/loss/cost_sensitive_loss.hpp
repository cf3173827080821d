/// The mean cost of confusing one class with another, under a network's probabilities.
///
///     p = softmax(logits) ──► mean over rows of Σ_k M[y,k] p_k
///
/// Galdran et al., "Cost-Sensitive Regularization for Diabetic Retinopathy Grading from Eye Fundus
/// Images", MICCAI 2020. Only the rows of M that a batch needs are made: O(N K), whatever the
/// number of classes.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace seam::stages {

/// `logits` [N,K], `costs` [N,K]: the rows M[y] of the labels.
[[nodiscard]] torch::Tensor cost_sensitive_loss(const torch::Tensor& logits,
                                                const torch::Tensor& costs);

/// Rows of costs [N,K] like `logits`, of `labels` i64[N] from 0 to K - 1. Every other class
/// costs 1.
[[nodiscard]] torch::Tensor nominal_costs(const torch::Tensor& logits, const torch::Tensor& labels);
/// `within` for classes in the same super-class, 1 for others. `super_classes` i64[K].
[[nodiscard]] torch::Tensor super_class_costs(const torch::Tensor& logits,
                                              const torch::Tensor& labels,
                                              const torch::Tensor& super_classes, double within);
/// (y - k)² / (K - 1)²: the loss is (y - μ)² + Var under the probabilities, in those units.
[[nodiscard]] torch::Tensor ordinal_costs(const torch::Tensor& logits, const torch::Tensor& labels);

/// f64 [K,K] from a CSV file: one line per class with K costs, which are finite, not negative and 0
/// for the class itself. Throws seam::Error naming the file and the line.
[[nodiscard]] torch::Tensor read_costs(const std::filesystem::path& file);

}  // namespace seam::stages
