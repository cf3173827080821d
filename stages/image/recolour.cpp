// Compiled with -O3, which vectorises the loops.
#include "stages/image/recolour.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "stages/cpu/each_set.hpp"

namespace seam::stages {
namespace {

constexpr int shift = 16;  // the matrix elements are in units of 1 / 2^16

using Matrix = std::array<std::int32_t, 9>;

/// The number of pixels that are split into three planes at a time, so that the arithmetic has no
/// strides.
constexpr std::size_t run = 256;

[[gnu::always_inline]] inline std::uint8_t channel(std::int32_t sum) {
  // Unlike a division, rounds negative sums down instead of towards 0; they become 0 anyway.
  sum >>= shift;
  sum = sum < 0 ? 0 : sum;
  return static_cast<std::uint8_t>(sum > 255 ? 255 : sum);
}

[[gnu::always_inline]] inline void convert(std::uint8_t* pixels, std::size_t count,
                                           const Matrix& m) {
  std::array<std::uint8_t, run> red;
  std::array<std::uint8_t, run> green;
  std::array<std::uint8_t, run> blue;
  constexpr std::int32_t half = 1 << (shift - 1);
  for (std::size_t i = 0; i < count; ++i) {
    red[i] = pixels[3 * i];
    green[i] = pixels[3 * i + 1];
    blue[i] = pixels[3 * i + 2];
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t r = red[i];
    const std::int32_t g = green[i];
    const std::int32_t b = blue[i];
    red[i] = channel(m[0] * r + m[1] * g + m[2] * b + half);
    green[i] = channel(m[3] * r + m[4] * g + m[5] * b + half);
    blue[i] = channel(m[6] * r + m[7] * g + m[8] * b + half);
  }
  for (std::size_t i = 0; i < count; ++i) {
    pixels[3 * i] = red[i];
    pixels[3 * i + 1] = green[i];
    pixels[3 * i + 2] = blue[i];
  }
}

[[gnu::always_inline]] inline void convert_all(std::span<std::uint8_t> pixels, const Matrix& m) {
  std::uint8_t* at = pixels.data();
  std::size_t left = pixels.size() / 3;
  for (; left >= run; left -= run, at += 3 * run) convert(at, run, m);
  convert(at, left, m);
}

/// In units of 1 / 2^shift.
Matrix in_parts(const std::array<double, 9>& matrix) {
  constexpr double one = 1 << shift;
  constexpr double most = 128;  // 128 * 255 * 2^16, and a half, are below 2^31
  Matrix parts{};
  for (std::size_t row = 0; row < 3; ++row) {
    double positive = 0;
    double negative = 0;
    for (std::size_t i = 3 * row; i < 3 * row + 3; ++i) {
      (matrix[i] < 0 ? negative : positive) += std::abs(matrix[i]);
    }
    // Written so that NaN is rejected too.
    if (!(positive < most && negative < most)) {
      throw std::invalid_argument("the elements of a colour matrix are too large");
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = static_cast<std::int32_t>(std::lround(matrix[i] * one));
  }
  return parts;
}

}  // namespace

void recolour(Image& image, const std::array<double, 9>& matrix, InstructionSet set) {
  if (image.channels() != 3) {
    throw std::invalid_argument("only an image of 3 channels can be recoloured");
  }
  const Matrix m = in_parts(matrix);
  const std::span<std::uint8_t> pixels(image.data(), image.bytes());
  EachSet<convert_all>::of(set)(pixels, m);
}

std::uint8_t largest_value(const Image& image) {
  std::uint8_t largest = 0;
  for (const std::uint8_t value : image.pixels()) largest = std::max(largest, value);
  return largest;
}

}  // namespace seam::stages
