/// The sides of a rectangle of random size and shape, as torchvision draws them for
/// RandomResizedCrop and RandomErasing.
///
///     ┌─ image, area A ────────┐    share  uniform in area_least ... area_most
///     │    ┌───────┐           │    aspect log-uniform in aspect_least ... aspect_most
///     │    │       │           │
///     │    └───────┘           │    one side  sqrt(share * A * aspect)
///     └────────────────────────┘    the other sqrt(share * A / aspect)
#pragma once

#include <cmath>

#include <seam/image.hpp>
#include <seam/random.hpp>

namespace seam::stages {

/// How often torchvision draws before it gives up on a rectangle that fits.
inline constexpr int attempts_at_sides = 10;

/// All positive, the minimum not above the maximum.
struct SideRanges {
  double area_least = 0;  ///< fraction of the image's area
  double area_most = 0;
  double aspect_least = 0;  ///< a ratio of two sides; the caller defines which
  double aspect_most = 0;
};

/// In pixels; they may be 0 or longer than the image's sides. Their ratio is approximately the
/// drawn aspect.
struct RandomSides {
  std::int64_t numerator = 0;
  std::int64_t denominator = 0;

  friend bool operator==(const RandomSides&, const RandomSides&) = default;
};

/// Rounds like Python's round(): to the nearest whole number, halves to even, in any rounding mode.
/// The number must be finite and fit.
[[nodiscard]] inline std::int64_t nearest_whole(double number) {
  const double below = std::floor(number);
  const auto whole = static_cast<std::int64_t>(below);
  const double beyond = number - below;
  if (beyond == 0.5) return whole + (whole % 2 == 0 ? 0 : 1);
  return beyond < 0.5 ? whole : whole + 1;
}

/// Draws the fraction of the area, then the aspect. Sides are rounded like Python's round().
inline RandomSides draw_sides(const Image& image, const SideRanges& ranges, Random& random) {
  const double area = static_cast<double>(image.height()) * image.width() *
                      random.uniform(ranges.area_least, ranges.area_most);
  const double aspect =
      std::exp(random.uniform(std::log(ranges.aspect_least), std::log(ranges.aspect_most)));
  return {.numerator = nearest_whole(std::sqrt(area * aspect)),
          .denominator = nearest_whole(std::sqrt(area / aspect))};
}

}  // namespace seam::stages
