/// Operations on an image's values: mapping colours, and the largest value.
#pragma once

#include <array>

#include <seam/image.hpp>

#include "stages/cpu/instruction_set.hpp"

namespace seam::stages {

/// Multiplies every pixel (red, green, blue) by the matrix, row by row, rounded and clamped to 0
/// ... 255. The matrix elements are rounded to 1/65536. All instruction sets give the same bytes.
/// Throws std::invalid_argument if the image does not have 3 channels, or if the positive elements
/// of a row, or the negative ones, add up to 128 or more: sums are kept in 32 bits.
void recolour(Image& image, const std::array<double, 9>& matrix,
              InstructionSet set = best_instruction_set());

/// 0 for an image without pixels.
std::uint8_t largest_value(const Image& image);

}  // namespace seam::stages
