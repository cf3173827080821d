/// Affine warping with bilinear interpolation, in one pass over the pixels.
#pragma once

#include <seam/image.hpp>

#include "stages/cpu/instruction_set.hpp"

namespace seam::stages {

/// Where in the source a pixel of the result is looked up; pixel (0, 0) has its centre at (0, 0).
///
///     source row    = row_by_row * row    + row_by_column * column    + row
///     source column = column_by_row * row + column_by_column * column + column
struct SourceMap {
  double row_by_row = 1;
  double row_by_column = 0;
  double row = 0;
  double column_by_row = 0;
  double column_by_column = 1;
  double column = 0;

  friend bool operator==(const SourceMap&, const SourceMap&) = default;
};

/// A result of the source's size. Places outside the source take the nearest pixel at its edge.
/// Places are rounded to 1/256 of a pixel; values are multiplied by `gain`, rounded and cut at 255.
/// The same bytes on every machine, whichever instruction set is used.
///
/// `image` must have 3 channels, the map and the gain must be finite and the gain not negative:
/// std::invalid_argument otherwise.
Image warp_bilinear(const Image& image, const SourceMap& map, double gain = 1,
                    InstructionSet set = best_instruction_set());

}  // namespace seam::stages
