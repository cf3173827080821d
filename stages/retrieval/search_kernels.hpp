/// The most expensive loops of a search after the matrix product, for the current processor.
#pragma once

#include <cstdint>

namespace seam::stages {

/// Elements of an inner product are distributed over this many lanes, which are added in a fixed
/// tree.
inline constexpr std::int64_t lane_count = 16;

/// Scores of a range of the gallery: offset[j] + scale[j] * products[j].
struct Scores {
  const float* products;
  const float* offset;
  const float* scale;

  [[nodiscard]] float at(std::int64_t j) const { return offset[j] + scale[j] * products[j]; }
};

constexpr std::int64_t scan_width = 32;

/// The first block of 32 scores in [begin, end) with scores of at most `threshold`, and which these
/// are; `end` if there is none. The length of the range is a multiple of 32.
struct Found {
  std::int64_t at;
  std::uint32_t which;
};

struct Kernels {
  double (*inner_product)(const float*, const float*, std::int64_t);
  Found (*find_at_most)(const Scores&, std::int64_t begin, std::int64_t end, float threshold);
};

[[nodiscard]] const Kernels& search_kernels();

/// The inner product in double, summed in a fixed order: element i into lane i modulo 16, then the
/// lanes in a tree. A product of two float32 is exact in double, so fused multiply-add does not
/// change the result.
[[nodiscard]] double inner_product(const float* a, const float* b, std::int64_t count);

}  // namespace seam::stages
