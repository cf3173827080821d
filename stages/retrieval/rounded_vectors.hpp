/// Vectors in bfloat16, which some processors multiply at twice the speed of float32, and the
/// rounding error of each, which a search needs for discarding pairs by such products.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace seam::stages {

/// Unit roundoff of bfloat16.
inline constexpr double bfloat16_rounding = 1.0 / (1 << 8);

/// LibTorch uses its own loops instead of oneDNN for products with fewer multiplications.
inline constexpr std::int64_t least_bfloat16_work = 1 << 16;

/// Whether LibTorch multiplies bfloat16 through oneDNN with instructions of this processor, so that
/// sums are float32 and only the result is rounded to bfloat16. LibTorch's other loops are slow,
/// and some accumulate in bfloat16.
[[nodiscard]] bool multiplies_bfloat16();

struct RoundedVectors {
  torch::Tensor vectors;      ///< bf16[N,D]; values below float32's smallest normal number are zero
  std::vector<double> moves;  ///< [N] the lengths of (vector - rounded vector)
};

/// `vectors`: f32[N,D], contiguous and on the CPU.
[[nodiscard]] RoundedVectors round_to_bfloat16(const torch::Tensor& vectors);

}  // namespace seam::stages
