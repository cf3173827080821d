#include "stages/dataset/wardrobe/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace seam::stages::wardrobe {

cv::Point fixed_point(const Point& p) {
  return {static_cast<int>(std::lround(p.x * (1 << subpixel_bits))),
          static_cast<int>(std::lround(p.y * (1 << subpixel_bits)))};
}

cv::Scalar scalar(const Colour& c) {
  return {c.blue, c.green, c.red};
}

Colour scaled(const Colour& c, double factor) {
  return {std::min(c.red * factor, 255.0), std::min(c.green * factor, 255.0),
          std::min(c.blue * factor, 255.0)};
}

Colour mixed(const Colour& a, const Colour& b, double share) {
  return {a.red + (b.red - a.red) * share, a.green + (b.green - a.green) * share,
          a.blue + (b.blue - a.blue) * share};
}

double brightness(const Colour& c) {
  return 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue;
}

Colour seam_colour(const Colour& cloth) {
  return brightness(cloth) > 60 ? scaled(cloth, 0.62) : mixed(cloth, {255, 255, 255}, 0.25);
}

Point along(const Point& a, const Point& b, double t) {
  return a + (b - a) * t;
}

Point mirrored(const Point& p) {
  return {-p.x, p.y};
}

Outline& Outline::line(Point to) {
  points_.push_back(to);
  return *this;
}

Outline& Outline::curve(Point first, Point second, Point to) {
  const Point from = points_.back();
  constexpr int steps = 10;
  for (int i = 1; i <= steps; ++i) {
    const double t = double(i) / steps;
    const double s = 1 - t;
    points_.push_back(from * (s * s * s) + first * (3 * s * s * t) + second * (3 * s * t * t) +
                      to * (t * t * t));
  }
  return *this;
}

Outline& Outline::follow(const Points& more) {
  points_.insert(points_.end(), more.begin(), more.end());
  return *this;
}

Points ellipse(Point centre, double rx, double ry) {
  Points points;
  for (int i = 0; i < 36; ++i) {
    const double t = 2 * std::numbers::pi * i / 36;
    points.emplace_back(centre.x + rx * std::cos(t), centre.y + ry * std::sin(t));
  }
  return points;
}

Points tube(const Points& line, const std::vector<double>& half_widths) {
  Points left;
  Points right;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Point way = line[std::min(i + 1, line.size() - 1)] - line[i == 0 ? 0 : i - 1];
    const double length = std::max(std::hypot(way.x, way.y), 1e-9);
    const Point aside(-way.y / length * half_widths[i], way.x / length * half_widths[i]);
    left.push_back(line[i] + aside);
    right.push_back(line[i] - aside);
  }
  left.insert(left.end(), right.rbegin(), right.rend());
  return left;
}

}  // namespace seam::stages::wardrobe
