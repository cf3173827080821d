/// The distribution of a tensor's values, as TensorBoard draws it.
///
///     f32[10,512] ──► least, greatest, sum, 64 buckets of equal width
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "seam/archive.hpp"

namespace seam::host::tensorboard {

/// Covers the finite values; if there are none, `count` is 0 and there are no buckets.
struct Histogram {
  double least = 0;
  double greatest = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;    ///< the buckets' upper ends, rising
  std::vector<double> buckets;   ///< number of values in each
  std::uint64_t not_finite = 0;  ///< values that are in no bucket
};

/// Whether tensors of this type ("f32", "i64", ...) can be drawn: f64, f32, f16 and bf16.
[[nodiscard]] bool has_histogram(std::string_view type);

/// Computes the histogram of an entry of such a type, in this machine's byte order.
[[nodiscard]] Histogram histogram_of(const Archive::Entry& entry);

/// A half-precision number ("f16", IEEE binary16) as a float.
[[nodiscard]] float from_half(std::uint16_t bits);

}  // namespace seam::host::tensorboard
