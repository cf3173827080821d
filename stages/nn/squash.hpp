/// Squash: a capsule's length becomes a probability, its direction stays.
///
///     v = |s|² / (1 + |s|²) · s / sqrt(|s|² + ε)
///
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017, equation 1. ε is inside
/// the root, as in the released code of the clothing retrieval network, so the gradient at zero is
/// finite.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace seam::nn {

inline constexpr double squash_epsilon = 1e-7;

/// Squashes along the last dimension; any shape. Differentiable once.
[[nodiscard]] torch::Tensor squash(const torch::Tensor& s, double epsilon = squash_epsilon);

/// The same in tensor operations: for devices and types that the kernels do not cover, and as the
/// reference for tests of the kernels.
[[nodiscard]] torch::Tensor squash_reference(const torch::Tensor& s,
                                             double epsilon = squash_epsilon);

/// The function that keeps the elements of a capsule small, and its length a probability.
enum class SquashForm : std::uint8_t {
  epsilon_in_root,     ///< as above: the released code
  epsilon_after_root,  ///< ... · s / (|s| + ε): equation 7 of the thesis
  tanh,                ///< of each element: the Siamese capsule network of O'Neill (2018)
  none,                ///< v = s, of any length
};

/// Squashes in that form along the last dimension. At zero, gradients are finite in every form.
[[nodiscard]] torch::Tensor squash(const torch::Tensor& s, SquashForm form, double epsilon);

/// The same in tensor operations.
[[nodiscard]] torch::Tensor squash_reference(const torch::Tensor& s, SquashForm form,
                                             double epsilon);

}  // namespace seam::nn
