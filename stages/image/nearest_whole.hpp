/// Rounding like Python's round().
#pragma once

#include <cmath>
#include <cstdint>

namespace seam::stages {

/// Rounds to the nearest whole number, halves to even, in any rounding mode. The number must be
/// finite and fit.
[[nodiscard]] inline std::int64_t nearest_whole(double number) {
  const double below = std::floor(number);
  const auto whole = static_cast<std::int64_t>(below);
  const double beyond = number - below;
  if (beyond == 0.5) return whole + (whole % 2 == 0 ? 0 : 1);
  return beyond < 0.5 ? whole : whole + 1;
}

}  // namespace seam::stages
