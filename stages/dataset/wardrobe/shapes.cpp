#include "stages/dataset/wardrobe/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace seam::stages::wardrobe {

double brightness(const Colour& colour) {
  return colour.dot({0.114, 0.587, 0.299});
}

Colour mixed(const Colour& a, const Colour& b, double share_of_b) {
  return a + (b - a) * share_of_b;
}

cv::Point fixed_point(const Point& p) {
  return {static_cast<int>(std::lround(p.x * (1 << subpixel_bits))),
          static_cast<int>(std::lround(p.y * (1 << subpixel_bits)))};
}

Points smooth(const Points& through) {
  Points curve{through.front()};
  for (std::size_t i = 0; i + 1 < through.size(); ++i) {
    const Point from = through[i];
    const Point to = through[i + 1];
    if (from == to) continue;
    // A Catmull-Rom spline: the slope at a point is that between its neighbours.
    const Point slope_from = (to - through[i == 0 ? 0 : i - 1]) * 0.5;
    const Point slope_to = (through[std::min(i + 2, through.size() - 1)] - from) * 0.5;
    constexpr int steps = 8;
    for (int step = 1; step <= steps; ++step) {
      const double t = double(step) / steps;
      const double s = 1 - t;
      curve.push_back(from * (s * s * (1 + 2 * t)) + slope_from * (s * s * t) +
                      to * (t * t * (1 + 2 * s)) - slope_to * (t * t * s));
    }
  }
  return curve;
}

Points mirrored(Points points) {
  for (Point& p : points) p.x = -p.x;
  return points;
}

Points symmetric(const Points& right_half) {
  Points outline = smooth(right_half);
  const Points left = mirrored(outline);
  outline.insert(outline.end(), left.rbegin(), left.rend());
  return outline;
}

Points tube(const Points& line, const std::vector<double>& half_widths) {
  Points left;
  Points right;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Point way = line[std::min(i + 1, line.size() - 1)] - line[i == 0 ? 0 : i - 1];
    const Point aside = Point(-way.y, way.x) * (half_widths[i] / std::hypot(way.x, way.y));
    left.push_back(line[i] + aside);
    right.push_back(line[i] - aside);
  }
  left.insert(left.end(), right.rbegin(), right.rend());
  return left;
}

Points placed(Points outline, Point centre, double scale, double turn) {
  const Point x = Point(std::cos(turn), std::sin(turn)) * scale;
  const Point y(-x.y, x.x);
  for (Point& p : outline) p = centre + x * p.x + y * p.y;
  return outline;
}

Points ellipse(Point centre, double radius_x, double radius_y) {
  Points points;
  constexpr int corners = 36;
  for (int i = 0; i < corners; ++i) {
    const double angle = 2 * std::numbers::pi * i / corners;
    points.emplace_back(centre.x + radius_x * std::cos(angle),
                        centre.y + radius_y * std::sin(angle));
  }
  return points;
}

}  // namespace seam::stages::wardrobe
