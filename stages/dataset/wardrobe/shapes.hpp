/// The building blocks of the wardrobe's figures: points, outlines and tubes in figure units, and
/// colours.
#pragma once

#include <opencv2/core.hpp>

#include "stages/dataset/wardrobe/design.hpp"

namespace seam::stages::wardrobe {

using Point = cv::Point2d;
using Points = std::vector<Point>;

/// OpenCV draws points in fixed-point numbers with this many bits of fraction.
inline constexpr int subpixel_bits = 4;
[[nodiscard]] cv::Point fixed_point(const Point& p);

[[nodiscard]] cv::Scalar scalar(const Colour& c);
[[nodiscard]] Colour scaled(const Colour& c, double factor);
[[nodiscard]] Colour mixed(const Colour& a, const Colour& b, double share);
[[nodiscard]] double brightness(const Colour& c);
/// The colour of thread or a seam on a cloth: darker, or lighter on dark cloth.
[[nodiscard]] Colour seam_colour(const Colour& cloth);

/// `t` of the way from a to b.
[[nodiscard]] Point along(const Point& a, const Point& b, double t);
[[nodiscard]] Point mirrored(const Point& p);

/// A closed shape made of lines and Bezier curves.
class Outline {
 public:
  explicit Outline(Point start) : points_{start} {}
  Outline& line(Point to);
  Outline& curve(Point first, Point second, Point to);
  Outline& follow(const Points& more);
  [[nodiscard]] const Points& points() const { return points_; }
  operator const Points&() const { return points_; }

 private:
  Points points_;
};

[[nodiscard]] Points ellipse(Point centre, double rx, double ry);
/// A tube around a line, with a half width at each of its points.
[[nodiscard]] Points tube(const Points& line, const std::vector<double>& half_widths);

}  // namespace seam::stages::wardrobe
