/// Initial weights: the same numbers for the same seed on any machine.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::nn {

/// Glorot and Bengio's uniform initialisation, U(-r, r) with r = sqrt(6 / (fan_in + fan_out)).
/// `stream` separates the tensors of one network.
[[nodiscard]] torch::Tensor glorot_uniform(const std::vector<std::int64_t>& shape,
                                           std::int64_t fan_in, std::int64_t fan_out,
                                           std::uint64_t seed, std::uint64_t stream,
                                           torch::ScalarType type = torch::kFloat32);

/// Normal numbers around zero.
[[nodiscard]] torch::Tensor normal_values(const std::vector<std::int64_t>& shape, double deviation,
                                          std::uint64_t seed, std::uint64_t stream,
                                          torch::ScalarType type = torch::kFloat32);

/// The number that LibTorch's generator was seeded with: whoever calls torch::manual_seed first
/// gets the same weights from the functions here.
[[nodiscard]] std::uint64_t generator_seed();

}  // namespace seam::nn
