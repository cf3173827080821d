/// The properties of one photograph: the person's pose, and who it is.
#pragma once

#include <seam/random.hpp>

#include "stages/dataset/wardrobe/camera.hpp"
#include "stages/dataset/wardrobe/design.hpp"
#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages::wardrobe {

struct Pose {
  View view = View::front;
  bool worn = true;
  double arm_left = 0.2;  ///< angle from hanging, radians
  double arm_right = 0.2;
  double elbow_left = 0;
  double elbow_right = 0;
  double stance = 0.02;  ///< how far the feet stand apart
  double hips = 0;       ///< weight on one leg: lower body moves aside
  Colour skin;
  Colour hair;
  Colour companion;  ///< the person's other garment
  [[nodiscard]] bool back() const { return view == View::back; }
};

[[nodiscard]] Pose strike(Random& random, View view);

/// A point of an arm, `t` of the way to the wrist, for the arm at +x.
[[nodiscard]] Point arm_point(double angle, double elbow, double t);

}  // namespace seam::stages::wardrobe
