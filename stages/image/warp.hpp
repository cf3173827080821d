/// Affine warping with bilinear interpolation, in one pass over the pixels.
#pragma once

#include <seam/image.hpp>

#include "stages/cpu/instruction_set.hpp"

namespace seam::stages {

/// The source position of a pixel of the result; pixel (0, 0) has its centre at (0, 0).
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

/// The result has the source's size. Positions outside the source use the nearest pixel at its
/// edge. Positions are rounded to 1/256 of a pixel; values are multiplied by `gain`, rounded and
/// clamped to 255. All machines and instruction sets give the same bytes.
///
/// `image` must have 3 channels, the map and the gain must be finite and the gain not negative:
/// std::invalid_argument otherwise.
Image warp_bilinear(const Image& image, const SourceMap& map, double gain = 1,
                    InstructionSet set = best_instruction_set());

}  // namespace seam::stages
