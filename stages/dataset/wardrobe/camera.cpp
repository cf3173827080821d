#include "stages/dataset/wardrobe/camera.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace seam::stages::wardrobe {

View kind_of(int view) {
  return static_cast<View>(view % view_kinds);
}

const char* name_of(View view) {
  constexpr std::array<const char*, view_kinds> names{"1_front", "2_side", "3_back",
                                                      "4_full",  "6_flat", "7_additional"};
  return names[static_cast<std::size_t>(view)];
}

Point Camera::operator()(const Point& p) const {
  const double bulge = std::max(0.0, 1 - (p.x / 0.4) * (p.x / 0.4));
  const double x = p.x * narrowing + front_shift * bulge;
  return {centre.x + (x - target.x) * scale, centre.y + (p.y - target.y) * scale};
}

std::vector<cv::Point> Camera::fixed(const Points& points, Point offset) const {
  std::vector<cv::Point> out;
  out.reserve(points.size());
  for (const Point& p : points) {
    const Point q = (*this)(p)-offset;
    out.emplace_back(static_cast<int>(std::lround(q.x * (1 << subpixel_bits))),
                     static_cast<int>(std::lround(q.y * (1 << subpixel_bits))));
  }
  return out;
}

Camera frame(const GarmentDesign& design, Random& random, View view, int canvas) {
  Camera camera;
  double top = design.top();
  double bottom = design.bottom();
  double share = random.uniform(0.74, 0.84);  // of the canvas that the garment fills
  if (view == View::full) share = random.uniform(0.62, 0.70);
  if (view == View::additional) share = random.uniform(0.84, 0.94);
  const double reach =
      design.is_upper() ? 0.30 + 0.55 * design.sleeve_length * 0.7 : design.hem_width;
  const double wide =
      2 * std::max({reach, design.hem_width * (design.is_legged() ? 0.0 : 1.0), 0.33});
  const double height = std::max({bottom - top, wide * 0.95, 0.75});
  camera.scale = canvas * share / height;
  camera.target = {0, (top + bottom) / 2};
  const double aside = random.uniform(-0.05, 0.05);
  const double below = random.uniform(-0.035, 0.035);
  camera.centre = {canvas * (0.5 + aside), canvas * (0.5 + below)};
  const double left = random.coin(0.5) ? 1 : -1;
  if (view == View::side) {
    camera.narrowing = random.uniform(0.66, 0.8);
    camera.front_shift = left * random.uniform(0.07, 0.12);
  } else {
    camera.narrowing = random.uniform(0.93, 1.0);
    camera.front_shift = left * random.uniform(0.0, 0.035);
  }
  return camera;
}

}  // namespace seam::stages::wardrobe
