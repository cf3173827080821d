#include "stages/dataset/wardrobe/figure.hpp"

namespace seam::stages::wardrobe {

std::vector<Easel::Fold> Folds::lie(Random& random) const {
  std::vector<Easel::Fold> out;
  const auto add = [&](Point a, Point b, double width, double height) {
    const double bend = random.uniform(-0.03, 0.03);
    const Point middle = (a + b) * 0.5 + Point(bend, bend * 0.5);
    out.push_back({{a, along(a, middle, 0.6), along(middle, b, 0.4), b}, width, height});
  };
  const auto either = [&] { return random.coin(0.5) ? 1.0 : -1.0; };
  if (design_.is_upper()) {
    for (const int side : {-1, 1}) {
      for (int i = 0; i < 3; ++i) {  // pulled from the armpit across the body
        const double reach = random.uniform(0.05, 0.18);
        const double fall = random.uniform(0.1, 0.35);
        add({side * (design_.chest - 0.02), -0.47 + 0.04 * i}, {side * reach, -0.45 + fall}, 0.02,
            0.8 * either());
      }
      for (int i = 0; i < 3; ++i) {  // across the elbow
        const double t = 0.42 + 0.06 * i;
        const Point at = arm(side, t);
        add(at + Point(-0.08, -0.02), at + Point(0.08, 0.03), 0.014, 0.9 * either());
      }
      for (int i = 0; i < 2; ++i) {  // gathered at the waist
        const double y = design_.waist_y + random.uniform(-0.1, 0.08);
        const double reach = random.uniform(0.03, 0.13);
        add({side * design_.waist, y}, {side * reach, y + 0.03}, 0.014, 0.8 * either());
      }
    }
  }
  const bool hangs = design_.kind == GarmentKind::dress || design_.kind == GarmentKind::skirt ||
                     (design_.is_upper() && design_.hem_y > 0.3);
  if (hangs) {
    const double length = design_.hem_y - design_.waist_y;
    const int count = design_.pleats > 0 ? design_.pleats : 4;
    for (int i = 0; i <= count; ++i) {
      double u = -0.95 + 1.9 * i / count;
      if (design_.pleats == 0) u += random.uniform(-0.12, 0.12);
      const double from = design_.pleats > 0 ? 0.06 : random.uniform(0.1, 0.5) * length;
      const double wide = design_.waist + (design_.hem_width - design_.waist) * 1.0;
      add({u * (design_.waist + (wide - design_.waist) * from / length), design_.waist_y + from},
          {u * wide, design_.hem_y + 0.05}, design_.pleats > 0 ? 0.016 : 0.03,
          design_.pleats > 0 ? 1.5 : 0.9 * either());
    }
  }
  if (design_.is_legged()) {
    for (const int side : {-1, 1}) {
      for (int i = 0; i < 3; ++i) {
        const double fall = random.uniform(0.02, 0.14);
        add({side * 0.01, 0.35 + 0.03 * i}, {side * 0.2, 0.28 + fall + 0.05 * i}, 0.014,
            0.8 * either());
      }
      for (int i = 0; i < 3; ++i) {
        const double y = 0.8 + random.uniform(-0.05, 0.12);
        const Point at = leg(side, y);
        add(at + Point(-0.1, 0), at + Point(0.1, 0.03), 0.014, 0.7 * either());
      }
      add(leg(side, 0.3), leg(side, 1.35), 0.02, 0.7);
      const Point at = leg(side, design_.bottom() - 0.06);
      add(at + Point(-0.1, 0), at + Point(0.1, 0.02), 0.014, 0.8 * either());
    }
  }
  return out;
}

}  // namespace seam::stages::wardrobe
