/// Paints the parts of a figure over one another, with folds, light and shadow.
#pragma once

#include <seam/random.hpp>

#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages::wardrobe {

/// Figure units to canvas pixels.
struct Camera {
  double scale = 100;
  Point centre;            ///< on the canvas
  Point target;            ///< on the figure, and the middle of the cloth
  double narrowing = 1;    ///< a turned figure is narrower,
  double front_shift = 0;  ///< and its front moves aside
  double sway = 0;         ///< weight on one leg: the lower body moves aside
  double turn = 0;         ///< of the camera, radians

  [[nodiscard]] Point operator()(const Point& p) const;
  /// Where a point of the cloth is: cloth does not bulge.
  [[nodiscard]] Point flat(const Point& p) const;
};

class Easel {
 public:
  /// Paints on `picture`. `light` is a direction on it; parts of the garment are cut from `cloth`.
  Easel(cv::Mat3f picture, const Camera& camera, Point light, const cv::Mat3b& cloth);

  /// Whatever is painted between these heights afterwards has folds.
  void lay_folds(Random& random, double top, double bottom);
  /// `roundness`: how wide its edges curve away from the viewer, figure units.
  void fill(const Points& outline, const Colour& colour, double roundness = 0.03);
  /// Fills an outline with the cloth.
  void cut(const Points& outline, double roundness = 0.03);
  /// A line on top of what is there; width in figure units.
  void stroke(const Points& line, const Colour& colour, double width);

 private:
  void paint(const Points& outline, const cv::Mat3b& ink, double roundness);

  Camera camera_;
  Point light_;
  cv::Mat3f picture_;
  cv::Mat1f folds_;  ///< brightness
  cv::Mat3b cloth_;  ///< as it lies on the canvas
};

}  // namespace seam::stages::wardrobe
