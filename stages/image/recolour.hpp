/// Passes over a picture's values: other colours, and the largest value.
#pragma once

#include <array>
#include <cstdint>

#include <seam/image.hpp>

#include "stages/cpu/instruction_set.hpp"

namespace seam::stages {

/// Gives every pixel (red, green, blue) the colour that the matrix says, row by row, rounded and
/// cut at 0 and 255. The matrix's numbers are rounded to 1/65536. The same bytes whichever
/// instruction set is used. Throws std::invalid_argument where the image has not 3 channels, or
/// where the positive numbers of a row, or the negative ones, add up to 128 or more: sums are kept
/// in 32 bits.
void recolour(Image& image, const std::array<double, 9>& matrix,
              InstructionSet set = best_instruction_set());

/// 0 for an image without pixels.
std::uint8_t largest_value(const Image& image);

}  // namespace seam::stages
