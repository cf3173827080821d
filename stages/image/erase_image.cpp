#include "stages/image/erase_image.hpp"

#include <cstddef>
#include <stdexcept>

namespace seam::stages {
namespace {

/// `next` returns the bytes, row by row.
template <class Next>
Image painted(const Image& image, const Region& region, const Next& next) {
  if (!has_region(image, region)) {
    throw std::invalid_argument("the region to erase is not inside the image");
  }
  Image result = image.clone();
  const auto channels = static_cast<std::size_t>(image.channels());
  const std::size_t first = static_cast<std::size_t>(region.left) * channels;
  const std::size_t count = static_cast<std::size_t>(region.width) * channels;
  for (int y = 0; y < region.height; ++y) {
    std::uint8_t* const row = result.row(region.top + y) + first;
    for (std::size_t i = 0; i < count; ++i) row[i] = next(i % channels);
  }
  return result;
}

}  // namespace

std::optional<Region> random_erased_region(const Image& image, const SideRanges& ranges,
                                           Random& random) {
  for (int attempt = 0; attempt < attempts_at_sides; ++attempt) {
    const auto [height, width] = draw_sides(image, ranges, random);
    if (height < 1 || height >= image.height() || width < 1 || width >= image.width()) continue;
    return random_region(image, static_cast<int>(height), static_cast<int>(width), random);
  }
  return std::nullopt;
}

Image erase_region(const Image& image, const Region& region, std::span<const std::uint8_t> value) {
  if (value.size() != 1 && value.size() != static_cast<std::size_t>(image.channels())) {
    throw std::invalid_argument("erasing takes one number, or one for each channel");
  }
  return painted(image, region,
                 [value](std::size_t channel) { return value[value.size() == 1 ? 0 : channel]; });
}

Image erase_with_noise(const Image& image, const Region& region, Random& random) {
  std::uint32_t bits = 0;
  unsigned left = 0;  // bytes of them
  return painted(image, region, [&](std::size_t /*channel*/) {
    if (left == 0) {
      bits = random.bits32();
      left = 4;
    }
    const auto byte = static_cast<std::uint8_t>(bits & 0xFFU);
    bits >>= 8U;
    --left;
    return byte;
  });
}

}  // namespace seam::stages
