/// The person and the garment, painted on an easel.
#pragma once

#include <seam/random.hpp>

#include "stages/dataset/wardrobe/design.hpp"
#include "stages/dataset/wardrobe/easel.hpp"

namespace seam::stages::wardrobe {

struct Pose {
  bool worn = true;  ///< rather than laid flat
  bool back = false;
  std::array<double, 2> arms{};    ///< angles from hanging, radians
  std::array<double, 2> elbows{};  ///< angles by which they are bent
  double stance = 0.02;            ///< how far the feet stand apart
  Colour skin;
  Colour hair;
  Colour companion;  ///< the person's other garment
};

[[nodiscard]] Pose strike(Random& random, bool worn, bool back);

/// Paints from the back to the front.
void paint_figure(Easel& easel, const GarmentDesign& design, const Colourway& colours,
                  const Pose& pose, Random& random);

}  // namespace seam::stages::wardrobe
