/// A photograph: from which side a garment is taken, how the figure lies on the canvas, and the
/// person and its pose.
#pragma once

#include <opencv2/core.hpp>
#include <seam/random.hpp>

#include "stages/dataset/wardrobe/design.hpp"
#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages::wardrobe {

enum class View : std::uint8_t { front, side, back, full, flat, additional };

/// Figure units to canvas pixels; a turned figure is narrower and its front moves aside.
struct Camera {
  double scale = 100;
  Point centre;  ///< on the canvas
  Point target;  ///< on the figure
  double narrowing = 1;
  double front_shift = 0;

  [[nodiscard]] Point operator()(const Point& p) const;
  /// The points on a part of the canvas that begins at `offset`, as OpenCV draws them:
  /// in fixed-point numbers.
  [[nodiscard]] std::vector<cv::Point> fixed(const Points& points, Point offset) const;
};

[[nodiscard]] Camera frame(const GarmentDesign& design, Random& random, View view, int canvas);

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
