#include "stages/dataset/wardrobe/fitting.hpp"

#include <algorithm>
#include <cmath>

namespace seam::stages::wardrobe {

Fitting::Fitting(Easel& easel, const GarmentDesign& design, const Colourway& colours,
                 const Pose& pose, const Fabric& plain, const Fabric& front)
    : easel_(easel),
      design_(design),
      colours_(colours),
      pose_(pose),
      cloth_(plain),
      front_(pose.back() ? plain : front),
      trim_(mixed(colours.base, colours.second, 0.85)),
      seam_(seam_colour(colours.base)) {}

Fabric Fitting::solid(const Colour& colour, bool folds) {
  Fabric fabric;
  fabric.flat = colour;
  fabric.folds = folds;
  return fabric;
}

Point Fitting::arm(int side, double t) const {
  const Point p = side > 0 ? arm_point(pose_.arm_right, pose_.elbow_right, t)
                           : arm_point(pose_.arm_left, pose_.elbow_left, t);
  return side > 0 ? p : mirrored(p);
}

Point Fitting::leg(int side, double y) const {
  const double t = std::clamp((y - 0.1) / 1.3, 0.0, 1.0);
  return {side * (0.115 + pose_.stance * t) + pose_.hips * (1 - t), y};
}

void Fitting::fringe() {
  easel_.fill(Outline({-0.1, -1.05})
                  .curve({-0.1, -1.24}, {0.1, -1.24}, {0.1, -1.05})
                  .curve({0.06, -1.13}, {-0.02, -1.14}, {-0.1, -1.05}),
              solid(pose_.hair, false), 0.015);
}

Points Details::hem_line(double half_width, double y) const {
  Points points;
  constexpr int steps = 28;
  for (int i = 0; i <= steps; ++i) {
    const double u = 1 - 2.0 * i / steps;  // from +x to -x
    double below = 0.03 * (1 - u * u);
    switch (design_.hem) {
      case Hem::straight:
        break;
      case Hem::curved:
        below += 0.08 * (1 - u * u) - 0.05;
        break;
      case Hem::high_low:
        below += 0.11 * u;
        break;
      case Hem::peplum:
        below += 0.05 * std::cos(9 * u);
        break;
    }
    below += design_.hem_wave * std::sin(17 * u + 1);
    points.emplace_back(u * half_width + pose_.hips, y + below);
  }
  return points;
}

void Details::hem_trim() {
  const double up = design_.hem_band ? 0.035 : 0.028;
  Points line = hem_line(design_.hem_width * 0.985, design_.hem_y - up);
  if (design_.opening > 0 && !pose_.back()) return;
  if (design_.hem_band) {
    Points band = line;
    const Points lower = hem_line(design_.hem_width * 0.99, design_.hem_y + 0.004);
    band.insert(band.end(), lower.rbegin(), lower.rend());
    easel_.fill(band, solid(trim_), 0.02);
  } else {
    easel_.stroke(line, seam_, 0.005);
  }
}

void Details::skirt_details(double top, double top_width) {
  const double length = design_.hem_y - top;
  for (int tier = 1; tier <= design_.tiers; ++tier) {
    const double t = double(tier) / (design_.tiers + 1);
    const double w = top_width + (design_.hem_width - top_width) * t;
    Points line;
    for (int i = 0; i <= 24; ++i) {
      const double u = 1 - 2.0 * i / 24;
      line.emplace_back(u * w * 0.97 + pose_.hips * t,
                        top + length * t + 0.03 * (1 - u * u) + 0.006 * std::sin(40 * u));
    }
    easel_.stroke(line, seam_, 0.014);
  }
  if (design_.belt) {
    const double w = top_width + 0.004;
    easel_.fill(
        Outline({-w, top - 0.028})
            .curve({-w * 0.4, top - 0.014}, {w * 0.4, top - 0.014}, {w, top - 0.028})
            .line({w + 0.004, top + 0.026})
            .curve({w * 0.4, top + 0.042}, {-w * 0.4, top + 0.042}, {-w - 0.004, top + 0.026}),
        solid(colours_.accent), 0.012);
    if (!pose_.back()) {
      const Colour metal{214, 196, 130};
      easel_.stroke(
          {{-0.03, top - 0.02}, {0.03, top - 0.02}, {0.03, top + 0.036}, {-0.03, top + 0.036}},
          metal, 0.012, true);
    }
  }
}

void Details::waistband() {
  const double top = design_.waist_y;
  const double w = design_.waist + 0.003;
  easel_.fill(Outline({-w, top - 0.012})
                  .curve({-w * 0.4, top + 0.012}, {w * 0.4, top + 0.012}, {w, top - 0.012})
                  .line({w + 0.008, top + 0.045})
                  .curve({w * 0.4, top + 0.07}, {-w * 0.4, top + 0.07}, {-w - 0.008, top + 0.045}),
              design_.belt ? solid(colours_.accent) : front_, 0.012);
  if (!pose_.back() && design_.is_legged()) button({0, top + 0.034});
}

void Details::button(Point at) {
  const Colour disc = brightness(colours_.base) > 120 ? Colour{70, 62, 56} : Colour{236, 230, 214};
  easel_.fill(ellipse(at, 0.0155, 0.0155), solid(disc, false), 0.006);
}

void Details::patch_pocket(Point at, double w, double h) {
  easel_.stroke({at + Point(-w, -h), at + Point(-w, h * 0.7), at + Point(0, h),
                 at + Point(w, h * 0.7), at + Point(w, -h)},
                seam_, 0.008, true);
  easel_.stroke({at + Point(-w, -h * 0.68), at + Point(w, -h * 0.68)}, seam_, 0.005);
}

void Details::pockets() {
  switch (design_.pockets) {
    case Pockets::none:
      break;
    case Pockets::one_chest:
      patch_pocket({0.13, -0.4}, 0.055, 0.065);
      break;
    case Pockets::two_chest:
      patch_pocket({0.14, -0.4}, 0.055, 0.065);
      patch_pocket({-0.14, -0.4}, 0.055, 0.065);
      break;
    case Pockets::kangaroo: {
      const double y = design_.hem_y - 0.06;
      easel_.fill(Outline({-0.17, y})
                      .line({-0.17, y - 0.08})
                      .curve({-0.15, y - 0.12}, {-0.11, y - 0.17}, {-0.1, y - 0.19})
                      .line({0.1, y - 0.19})
                      .curve({0.11, y - 0.17}, {0.15, y - 0.12}, {0.17, y - 0.08})
                      .line({0.17, y}),
                  front_, 0.015);
      break;
    }
    case Pockets::slanted:
      for (const int side : {-1, 1}) {
        easel_.stroke({{side * 0.12, -0.04}, {side * 0.19, 0.09}}, seam_, 0.012);
      }
      break;
    case Pockets::patch:
      for (const int side : {-1, 1}) patch_pocket({side * 0.16, 0.04}, 0.075, 0.075);
      break;
  }
}

}  // namespace seam::stages::wardrobe
