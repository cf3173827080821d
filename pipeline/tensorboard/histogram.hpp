/// How a tensor's values are distributed, as TensorBoard draws it.
///
///     f32[10,512] ──► least, greatest, sum, 64 buckets of equal width
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "seam/archive.hpp"

namespace seam::host::tensorboard {

/// Of the values that are finite; without any, `count` is 0 and there are no buckets.
struct Histogram {
  double least = 0;
  double greatest = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;    ///< the buckets' upper ends, rising
  std::vector<double> buckets;   ///< how many values each has
  std::uint64_t not_finite = 0;  ///< values that are in no bucket
};

/// Whether a tensor of this type ("f32", "i64", ...) can be drawn: f64, f32, f16 and bf16 can.
[[nodiscard]] bool has_histogram(std::string_view type);

/// Of an entry whose type has one; values are in this machine's byte order.
[[nodiscard]] Histogram histogram_of(const Archive::Entry& entry);

/// A half-precision number ("f16", IEEE binary16) as a float.
[[nodiscard]] float from_half(std::uint16_t bits);

}  // namespace seam::host::tensorboard
