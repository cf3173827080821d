// Compiled with -O3, which vectorises the loops, and -ffp-contract=off, because fused multiply-adds
// would make the bytes depend on the machine.
#include "stages/image/warp.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "stages/cpu/each_set.hpp"

namespace seam::stages {
namespace {

/// One row of the result. All positions are in units of 1/256 pixel.
struct Row {
  const std::uint8_t* source;
  std::int32_t source_row_bytes;
  std::int32_t last_row;
  std::int32_t last_column;
  float row;  // source position of the first pixel
  float column;
  float row_step;
  float column_step;
  std::int32_t width;
  float gain;  // includes the division by 65536 of two interpolations
};

// Loads from packed RGB start at any byte.
using UnalignedWord [[gnu::aligned(1), gnu::may_alias]] = std::uint32_t;
using Sixteen [[gnu::vector_size(16), gnu::aligned(1), gnu::may_alias]] = std::uint8_t;

/// Red and blue are interpolated in one 32-bit number, 16 bits each; `words` is a buffer for the
/// row with one word per pixel.
[[gnu::always_inline]] inline void warp_row(const Row& r, std::uint32_t* __restrict words,
                                            std::uint8_t* __restrict out) {
  const std::uint8_t* const source = r.source;
  const std::int32_t row_bytes = r.source_row_bytes;
  const auto bottom = static_cast<float>(r.last_row * 256);
  const auto right = static_cast<float>(r.last_column * 256);
  const std::int32_t last_pair_row = r.last_row - 1;
  const std::int32_t last_pair_column = r.last_column - 1;
  const float gain = r.gain;
  for (std::int32_t i = 0; i < r.width; ++i) {
    const auto step = static_cast<float>(i);
    float y = r.row + r.row_step * step;
    float x = r.column + r.column_step * step;
    y = y < 0 ? 0 : y;
    x = x < 0 ? 0 : x;
    y = y > bottom ? bottom : y;
    x = x > right ? right : x;
    const auto place_y = static_cast<std::int32_t>(y);
    const auto place_x = static_cast<std::int32_t>(x);
    // The pair of pixels around the position; at the far edge the weight is all on the second one.
    std::int32_t top = place_y >> 8;
    std::int32_t left = place_x >> 8;
    top = top > last_pair_row ? last_pair_row : top;
    left = left > last_pair_column ? last_pair_column : left;
    const auto lower = static_cast<std::uint32_t>(place_y - (top << 8));
    const auto righter = static_cast<std::uint32_t>(place_x - (left << 8));
    const std::uint32_t upper = 256 - lower;
    const std::uint32_t lefter = 256 - righter;
    const std::int32_t at = top * row_bytes + left * 3;
    // The right pixel is read starting one byte early, so that no read goes past the last pixel.
    const std::uint32_t a = *reinterpret_cast<const UnalignedWord*>(source + at);
    const std::uint32_t b = *reinterpret_cast<const UnalignedWord*>(source + at + 2) >> 8U;
    const std::uint32_t c = *reinterpret_cast<const UnalignedWord*>(source + at + row_bytes);
    const std::uint32_t d =
        *reinterpret_cast<const UnalignedWord*>(source + at + row_bytes + 2) >> 8U;
    constexpr std::uint32_t red_and_blue = 0x00FF00FF;
    const std::uint32_t above_rb = (a & red_and_blue) * lefter + (b & red_and_blue) * righter;
    const std::uint32_t below_rb = (c & red_and_blue) * lefter + (d & red_and_blue) * righter;
    const std::uint32_t above_g = (a >> 8U & 255U) * lefter + (b >> 8U & 255U) * righter;
    const std::uint32_t below_g = (c >> 8U & 255U) * lefter + (d >> 8U & 255U) * righter;
    const auto red =
        static_cast<std::int32_t>((above_rb & 0xFFFFU) * upper + (below_rb & 0xFFFFU) * lower);
    const auto green = static_cast<std::int32_t>(above_g * upper + below_g * lower);
    const auto blue =
        static_cast<std::int32_t>((above_rb >> 16U) * upper + (below_rb >> 16U) * lower);
    float red_out = static_cast<float>(red) * gain + 0.5F;
    float green_out = static_cast<float>(green) * gain + 0.5F;
    float blue_out = static_cast<float>(blue) * gain + 0.5F;
    red_out = red_out > 255.0F ? 255.0F : red_out;
    green_out = green_out > 255.0F ? 255.0F : green_out;
    blue_out = blue_out > 255.0F ? 255.0F : blue_out;
    words[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(red_out) |
                                          static_cast<std::int32_t>(green_out) << 8 |
                                          static_cast<std::int32_t>(blue_out) << 16);
  }
  // Four words to twelve bytes; each store writes four extra bytes, which the next one overwrites.
  std::int32_t i = 0;
  for (; i + 8 <= r.width; i += 4) {
    Sixteen v = *reinterpret_cast<const Sixteen*>(words + i);
    v = __builtin_shufflevector(v, v, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    *reinterpret_cast<Sixteen*>(out + 3 * static_cast<std::ptrdiff_t>(i)) = v;
  }
  for (; i < r.width; ++i) {
    std::uint8_t* pixel = out + 3 * static_cast<std::ptrdiff_t>(i);
    pixel[0] = static_cast<std::uint8_t>(words[i]);
    pixel[1] = static_cast<std::uint8_t>(words[i] >> 8U);
    pixel[2] = static_cast<std::uint8_t>(words[i] >> 16U);
  }
}

/// The image with its only row or column duplicated, so that every pixel has a neighbour.
Image doubled(const Image& image) {
  Image result(std::max(image.height(), 2), std::max(image.width(), 2), 3);
  for (int y = 0; y < result.height(); ++y) {
    const std::uint8_t* from = image.row(std::min(y, image.height() - 1));
    for (int x = 0; x < result.width(); ++x) {
      std::memcpy(result.row(y) + 3 * static_cast<std::size_t>(x),
                  from + 3 * static_cast<std::size_t>(std::min(x, image.width() - 1)), 3);
    }
  }
  return result;
}

void check_warp(const Image& image, const SourceMap& map, double gain) {
  if (image.channels() != 3 || image.empty() || image.bytes() == 0) {
    throw std::invalid_argument("only an image of 3 channels and at least one pixel can be warped");
  }
  // Positions, in units of 1/256, and byte offsets are kept in 32 bits.
  constexpr int longest = std::numeric_limits<std::int32_t>::max() / 256;
  if (image.height() > longest || image.width() > longest ||
      image.bytes() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::invalid_argument("an image of " + std::to_string(image.height()) + " x " +
                                std::to_string(image.width()) + " pixels is too large to warp");
  }
  for (const double value : {map.row_by_row, map.row_by_column, map.row, map.column_by_row,
                             map.column_by_column, map.column, gain}) {
    if (!std::isfinite(value)) throw std::invalid_argument("the map or the gain is not finite");
  }
  if (gain < 0) throw std::invalid_argument("the gain is negative");
}

}  // namespace

Image warp_bilinear(const Image& image, const SourceMap& map, double gain, InstructionSet set) {
  check_warp(image, map, gain);
  const bool single = image.height() < 2 || image.width() < 2;
  const Image source = single ? doubled(image) : image;
  Image result(image.height(), image.width(), 3);
  const auto warp = EachSet<warp_row>::of(set);
  const auto words =
      std::make_unique_for_overwrite<std::uint32_t[]>(static_cast<std::size_t>(image.width()));
  constexpr double parts = 256;
  constexpr double to_nearest = 0.5;
  for (int y = 0; y < image.height(); ++y) {
    const Row row{
        .source = source.data(),
        .source_row_bytes = static_cast<std::int32_t>(source.row_bytes()),
        .last_row = source.height() - 1,
        .last_column = source.width() - 1,
        .row = static_cast<float>((map.row_by_row * y + map.row) * parts + to_nearest),
        .column = static_cast<float>((map.column_by_row * y + map.column) * parts + to_nearest),
        .row_step = static_cast<float>(map.row_by_column * parts),
        .column_step = static_cast<float>(map.column_by_column * parts),
        .width = image.width(),
        .gain = static_cast<float>(gain / (parts * parts))};
    warp(row, words.get(), result.row(y));
  }
  return result;
}

}  // namespace seam::stages
