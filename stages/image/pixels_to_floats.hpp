/// Converts bytes to the numbers that models receive.
#pragma once

#include <array>

#include <seam/image.hpp>

#include "stages/cpu/instruction_set.hpp"

namespace seam::stages {

/// value = (byte / 255 - mean) / deviation for each channel, in single precision and in this order:
/// the same values as torchvision's ToTensor and Normalize.
struct Normalisation {
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> deviation{1, 1, 1};

  friend bool operator==(const Normalisation&, const Normalisation&) = default;
};

/// `out` must have one float per byte of the image, and gets them in the order of the bytes. Throws
/// std::invalid_argument if it does not, or if the image does not have 3 channels.
void pixels_to_floats(const Image& image, const Normalisation& normalisation, std::span<float> out,
                      InstructionSet set = best_instruction_set());

}  // namespace seam::stages
