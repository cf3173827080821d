/// The cloth that the wardrobe's garments are cut from: patterns and prints as fractions of ink, so
/// that one weaving can be used for every colourway of an item.
///
///     design ──► weave ──► ink (second, accent, relief) ──► dye(colourway) ──► pixels
#pragma once

#include <opencv2/core.hpp>
#include <seam/random.hpp>

#include "stages/dataset/wardrobe/design.hpp"

namespace seam::stages {

/// A square of cloth around the middle of a garment.
struct Cloth {
  /// Per texel the fraction of the second colour, of the accent colour (0..255 each), and the
  /// brightness of the weave (128 neutral).
  cv::Mat3b ink;
  double texels_per_unit = 1;  ///< of figure length
};

/// The cloth reaches this far from its middle, in figure units.
inline constexpr double cloth_reach = 1.2;

/// Weaves the pattern of a design, `texels` to a side; y = 0 is the middle of the garment's height.
[[nodiscard]] Cloth weave(const GarmentDesign& design, Random random, int texels);

/// Adds the print, which only the front of a garment carries. Does nothing if there is no print.
void add_print(Cloth& cloth, const GarmentDesign& design);

/// Pixels (blue, green, red) of the cloth in three colours.
[[nodiscard]] cv::Mat3b dye(const Cloth& cloth, const Colourway& colours);

}  // namespace seam::stages
