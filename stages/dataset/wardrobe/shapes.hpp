/// The building blocks of the wardrobe's pictures: colours and outlines.
#pragma once

#include <opencv2/core.hpp>
#include <vector>

namespace seam::stages::wardrobe {

/// Blue, green, red: 0..255.
using Colour = cv::Vec3d;
[[nodiscard]] double brightness(const Colour& colour);
[[nodiscard]] Colour mixed(const Colour& a, const Colour& b, double share_of_b);

using Point = cv::Point2d;
using Points = std::vector<Point>;

/// OpenCV draws points in fixed-point numbers with this many bits of fraction.
inline constexpr int subpixel_bits = 4;
[[nodiscard]] cv::Point fixed_point(const Point& p);

/// A curve through all points. A point that is given twice in a row is a corner.
[[nodiscard]] Points smooth(const Points& through);
/// The points on the other side of x = 0.
[[nodiscard]] Points mirrored(Points points);
/// A closed outline that is symmetric about x = 0, from points of its right half (see smooth),
/// which begins and ends in the middle.
[[nodiscard]] Points symmetric(const Points& right_half);
/// A tube around a line, with a half width at each of its points.
[[nodiscard]] Points tube(const Points& line, const std::vector<double>& half_widths);
/// An outline around the origin, scaled, turned and moved.
[[nodiscard]] Points placed(Points outline, Point centre, double scale, double turn);
[[nodiscard]] Points ellipse(Point centre, double radius_x, double radius_y);

}  // namespace seam::stages::wardrobe
