#include "stages/dataset/wardrobe/camera.hpp"

#include <algorithm>
#include <cmath>

namespace seam::stages::wardrobe {

Point Camera::operator()(const Point& p) const {
  const double bulge = std::max(0.0, 1 - (p.x / 0.4) * (p.x / 0.4));
  const double x = p.x * narrowing + front_shift * bulge;
  return {centre.x + (x - target.x) * scale, centre.y + (p.y - target.y) * scale};
}

std::vector<cv::Point> Camera::fixed(const Points& points, Point offset) const {
  std::vector<cv::Point> out;
  out.reserve(points.size());
  for (const Point& p : points) out.push_back(fixed_point((*this)(p)-offset));
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

Pose strike(Random& random, View view) {
  constexpr std::array skins{Colour{243, 212, 190}, Colour{228, 186, 156}, Colour{205, 158, 124},
                             Colour{166, 116, 84},  Colour{122, 82, 60},   Colour{88, 58, 44}};
  constexpr std::array hairs{Colour{40, 30, 26}, Colour{84, 54, 36}, Colour{140, 92, 56},
                             Colour{208, 170, 112}, Colour{24, 22, 24}};
  constexpr std::array companions{Colour{232, 232, 230}, Colour{44, 46, 54},    Colour{62, 82, 118},
                                  Colour{150, 150, 152}, Colour{196, 178, 148}, Colour{24, 24, 26}};
  Pose pose;
  pose.view = view;
  pose.worn = view != View::flat;
  const double spread = pose.worn ? 0.0 : 0.45;
  pose.arm_left = spread + random.uniform(0.06, 0.36);
  pose.arm_right = spread + random.uniform(0.06, 0.36);
  pose.elbow_left = random.uniform(-0.35, 0.15);
  pose.elbow_right = random.uniform(-0.35, 0.15);
  pose.stance = pose.worn ? random.uniform(0.0, 0.08) : random.uniform(0.02, 0.05);
  pose.hips = random.uniform(-0.025, 0.025);
  pose.skin = skins[random.index(skins.size())];
  pose.hair = hairs[random.index(hairs.size())];
  pose.companion = companions[random.index(companions.size())];
  return pose;
}

Point arm_point(double angle, double elbow, double t) {
  const Point shoulder(0.27, -0.655);
  constexpr double upper = 0.43;
  constexpr double fore = 0.40;
  const double length = t * (upper + fore);
  const Point d1(std::sin(angle), std::cos(angle));
  if (length <= upper) return shoulder + d1 * length;
  const Point d2(std::sin(angle + elbow), std::cos(angle + elbow));
  return shoulder + d1 * upper + d2 * (length - upper);
}

}  // namespace seam::stages::wardrobe
