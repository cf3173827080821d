/// Initial weights: the same values for the same seed on any machine.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::nn {

/// Glorot and Bengio's uniform initialisation, U(-r, r) with r = sqrt(6 / (fan_in + fan_out)).
/// `stream` separates the tensors of one network.
[[nodiscard]] torch::Tensor glorot_uniform(const std::vector<std::int64_t>& shape,
                                           std::int64_t fan_in, std::int64_t fan_out,
                                           std::uint64_t seed, std::uint64_t stream);

/// Normal numbers around zero.
[[nodiscard]] torch::Tensor normal_values(const std::vector<std::int64_t>& shape, double deviation,
                                          std::uint64_t seed, std::uint64_t stream);

/// The seed of LibTorch's generator: after the same torch::manual_seed, the functions here give the
/// same weights.
[[nodiscard]] std::uint64_t generator_seed();

}  // namespace seam::nn
