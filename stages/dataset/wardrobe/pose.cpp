#include "stages/dataset/wardrobe/pose.hpp"

#include <array>
#include <cmath>

namespace seam::stages::wardrobe {

Pose strike(Random& random, View view) {
  constexpr std::array<Colour, 6> skins{{{243, 212, 190},
                                         {228, 186, 156},
                                         {205, 158, 124},
                                         {166, 116, 84},
                                         {122, 82, 60},
                                         {88, 58, 44}}};
  constexpr std::array<Colour, 5> hairs{
      {{40, 30, 26}, {84, 54, 36}, {140, 92, 56}, {208, 170, 112}, {24, 22, 24}}};
  constexpr std::array<Colour, 6> companions{{{232, 232, 230},
                                              {44, 46, 54},
                                              {62, 82, 118},
                                              {150, 150, 152},
                                              {196, 178, 148},
                                              {24, 24, 26}}};
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
