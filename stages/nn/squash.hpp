/// Squash: a capsule's length becomes a probability, its direction stays.
///
///     v = |s|² / (1 + |s|²) · s / sqrt(|s|² + ε)
///
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017, equation 1. ε stands
/// inside the root, as in the released code of the clothing retrieval network, so the gradient at
/// zero is finite.
#pragma once

#include <torch/types.h>

namespace seam::nn {

inline constexpr double squash_epsilon = 1e-7;

/// Squashes along the last dimension; any shape. Differentiable once.
[[nodiscard]] torch::Tensor squash(const torch::Tensor& s, double epsilon = squash_epsilon);

/// The same in tensor operations: for devices and types that the kernels do not cover, and as what
/// the kernels are tested against.
[[nodiscard]] torch::Tensor squash_reference(const torch::Tensor& s,
                                             double epsilon = squash_epsilon);

}  // namespace seam::nn
