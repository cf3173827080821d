/// The cloth that the wardrobe's garments are cut from.
#pragma once

#include <opencv2/core.hpp>
#include <seam/random.hpp>

#include "stages/dataset/wardrobe/design.hpp"

namespace seam::stages::wardrobe {

/// The cloth reaches this far from its middle, the middle of the garment, in figure units.
inline constexpr double cloth_reach = 1.2;

/// Weaves the cloth of a design in three colours, `texels` to a side.
[[nodiscard]] cv::Mat3b weave(const GarmentDesign& design, const Colourway& colours, Random random,
                              int texels);

/// The motif of a design: an outline around the origin, about 1 in radius.
[[nodiscard]] Points motif_outline(const GarmentDesign& design);

}  // namespace seam::stages::wardrobe
