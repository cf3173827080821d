/// From which side a garment is photographed, and how the figure lies on the canvas.
#pragma once

#include <cstdint>
#include <opencv2/core.hpp>
#include <seam/random.hpp>
#include <vector>

#include "stages/dataset/wardrobe/design.hpp"
#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages::wardrobe {

inline constexpr int subpixel_bits = 4;

enum class View : std::uint8_t { front, side, back, full, flat, additional };

[[nodiscard]] View kind_of(int view);
/// The name of the kind in a file name: "1_front".
[[nodiscard]] const char* name_of(View view);
inline constexpr int view_kinds = 6;

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

}  // namespace seam::stages::wardrobe
