#include "stages/dataset/wardrobe/figure.hpp"

#include <algorithm>
#include <cmath>

namespace seam::stages::wardrobe {

void Body::paint() {
  const Fabric skin = solid(pose_.skin, false);
  const Fabric hair = solid(pose_.hair, false);
  const bool upper = design_.is_upper();
  for (const int side : {-1, 1}) {
    easel_.fill(
        tube({leg(side, 0.05), leg(side, 0.45), leg(side, 0.85), leg(side, 1.0), leg(side, 1.36)},
             {0.12, 0.105, 0.066, 0.07, 0.042}),
        skin, 0.035);
    easel_.fill(ellipse(leg(side, 1.41) + Point(side * 0.015, 0), 0.06, 0.045),
                solid(scaled(pose_.hair, 0.7), false), 0.02);
  }
  if (pose_.back()) {
    easel_.fill(tube({{0, -0.9}, {0, -0.7}}, {0.065, 0.09}), skin, 0.02);
  }
  easel_.fill(ellipse({0, -1.06}, 0.125, 0.16), hair, 0.03);
  if (!pose_.back()) {
    easel_.fill(tube({{0, -0.98}, {0, -0.84}, {0, -0.72}}, {0.06, 0.062, 0.12}), skin, 0.025);
    easel_.fill(ellipse({0, -1.04}, 0.092, 0.128), skin, 0.03);
    fringe();
  }
  const Outline trunk = Outline({-0.08, -0.77})
                            .curve({-0.2, -0.75}, {-0.28, -0.72}, {-0.29, -0.62})
                            .curve({-0.25, -0.4}, {-0.18, -0.25}, {-0.185, -0.1})
                            .curve({-0.25, 0.1}, {-0.24, 0.2}, {-0.2, 0.34})
                            .line({0.2, 0.34})
                            .curve({0.24, 0.2}, {0.25, 0.1}, {0.185, -0.1})
                            .curve({0.18, -0.25}, {0.25, -0.4}, {0.29, -0.62})
                            .curve({0.28, -0.72}, {0.2, -0.75}, {0.08, -0.77});
  easel_.fill(trunk, skin, 0.05);
  const bool needs_legs = upper && design_.hem_y < 0.5;
  if (needs_legs) {
    for (const int side : {-1, 1}) {
      easel_.fill(tube({leg(side, -0.02), leg(side, 0.4), leg(side, 0.85), leg(side, 1.32)},
                       {0.125, 0.118, 0.08, 0.065}),
                  solid(pose_.companion), 0.035);
    }
  }
  if (!upper) {  // a plain vest above trousers and skirts
    easel_.fill(Outline({-0.13, -0.76})
                    .curve({-0.06, -0.62}, {0.06, -0.62}, {0.13, -0.76})
                    .line({0.2, -0.74})
                    .curve({0.2, -0.55}, {0.24, -0.5}, {0.262, -0.45})
                    .curve({0.2, -0.25}, {0.2, -0.1}, {0.23, 0.12})
                    .line({-0.23, 0.12})
                    .curve({-0.2, -0.1}, {-0.2, -0.25}, {-0.262, -0.45})
                    .curve({-0.24, -0.5}, {-0.2, -0.55}, {-0.2, -0.74}),
                solid(pose_.companion), 0.05);
  }
  for (const int side : {-1, 1}) {
    easel_.fill(tube({arm(side, 0), arm(side, 0.25), arm(side, 0.5), arm(side, 0.75), arm(side, 1)},
                     {0.062, 0.055, 0.045, 0.042, 0.03}),
                skin, 0.02);
    easel_.fill(ellipse(arm(side, 1.07), 0.034, 0.058), skin, 0.015);
  }
}

void Skirt::paint() {
  const double top = design_.waist_y;
  const double w = design_.waist;
  const double hem = design_.hem_width;
  const double length = design_.hem_y - top;
  Outline outline({-w, top});
  outline.curve({-w * 0.4, top + 0.025}, {w * 0.4, top + 0.025}, {w, top});
  const Points lower = hem_line(hem, design_.hem_y);
  const Point hip(std::max(hem * 0.8, 0.25), top + std::min(0.3, length * 0.5));
  outline.curve({w + 0.02, top + 0.08}, hip, lower.front());
  outline.follow(lower);
  outline.curve(mirrored(hip), {-w - 0.02, top + 0.08}, {-w, top});
  easel_.fill(outline, front_, 0.055);
  skirt_details(top + 0.03, w + 0.005);
  if (!pose_.back()) {
    if (design_.closure == Closure::buttons) {
      easel_.stroke({{0.028, top + 0.05}, {0.028, design_.hem_y}}, seam_, 0.006);
      for (int i = 0; i < design_.buttons; ++i) {
        button({0, top + 0.08 + (length - 0.1) * (i + 0.2) / design_.buttons});
      }
    }
    if (design_.pockets == Pockets::slanted) pockets();
  }
  hem_trim();
  waistband();
}

void Trousers::paint() {
  const double top = design_.waist_y;
  const double w = design_.waist;
  const double end = design_.bottom();
  const double crotch = 0.37;
  const bool is_short = design_.kind == GarmentKind::shorts;
  const double knee_y = is_short ? (crotch + end) / 2 : std::min(0.85, end - 0.1);
  for (const int side : {-1, 1}) {
    const Point knee = leg(side, knee_y);
    const Point foot = leg(side, end);
    const double kw = design_.knee_width;
    const double aw = design_.ankle_width;
    const Point out(side, 0);
    // Wide legs stop at the middle of the body, or shorts would look like a skirt.
    const double kin = std::min(kw, std::abs(knee.x) - 0.012);
    const double ain = std::min(aw, std::abs(foot.x) - 0.016);
    Outline outline({-side * 0.004, top + 0.02});
    outline.line({side * w, top});
    outline.curve(Point(side * (w + 0.04), top + 0.12), Point(side * 0.265, 0.1),
                  {side * 0.262, 0.24});
    outline.curve(Point(side * 0.26, 0.4), knee + out * kw + Point(0, -0.18), knee + out * kw);
    outline.curve(knee + out * kw + Point(0, (end - knee_y) * 0.4),
                  foot + out * aw + Point(0, -(end - knee_y) * 0.3), foot + out * aw);
    outline.curve(foot + out * (aw * 0.4) + Point(0, 0.02),
                  foot - out * (ain * 0.4) + Point(0, 0.02), foot - out * ain);
    outline.curve(foot - out * ain + Point(0, -(end - knee_y) * 0.3),
                  knee - out * kin + Point(0, (end - knee_y) * 0.4), knee - out * kin);
    outline.curve(knee - out * kin + Point(0, std::max(-0.15, 0.6 * (crotch - knee_y))),
                  {side * 0.012, crotch + std::min(0.12, 0.3 * (knee_y - crotch))},
                  {-side * 0.004, crotch});
    easel_.fill(outline, front_, 0.045);
    if (design_.hem_band) {
      const Point middle = foot + out * ((aw - ain) / 2);
      const double half = (aw + ain) / 2;
      easel_.fill(
          tube({middle + Point(0, -0.05), middle + Point(0, 0.012)}, {half * 1.02, half * 1.03}),
          solid(trim_), 0.02);
    } else {
      easel_.stroke({foot + out * aw + Point(0, -0.03), foot - out * ain + Point(0, -0.03)}, seam_,
                    0.006);
    }
    if (design_.contrast_sleeves) {
      Points stripe;
      for (int i = 0; i <= 10; ++i) {
        const double t = i / 10.0;
        const Point p = t < 0.4
                            ? along({side * 0.235, 0.0}, {side * 0.235, 0.3}, t / 0.4)
                            : along({side * 0.235, 0.3}, foot + out * (aw * 0.8), (t - 0.4) / 0.6);
        stripe.push_back(p);
      }
      easel_.stroke(stripe, colours_.accent, 0.028);
    }
    if (design_.top_stitching) {
      easel_.stitch({{side * (w + 0.015), top + 0.1},
                     {side * 0.235, 0.24},
                     knee + out * (kw * 0.82),
                     foot + out * (aw * 0.85)},
                    mixed(colours_.base, colours_.second, 0.7));
    }
  }
  if (!pose_.back()) {
    easel_.stroke(Outline({0.045, top + 0.06}).curve({0.045, 0.1}, {0.04, 0.17}, {0.003, 0.2}),
                  seam_, 0.006);
    for (const int side : {-1, 1}) {
      if (design_.pockets == Pockets::slanted) {
        easel_.stroke({{side * 0.13, top + 0.06}, {side * 0.225, top + 0.2}}, seam_, 0.01);
      } else if (design_.pockets == Pockets::patch) {
        patch_pocket({side * 0.2, 0.5 * (0.3 + std::min(end, 0.9))}, 0.06, 0.075);
      }
    }
  } else {
    for (const int side : {-1, 1}) patch_pocket({side * 0.12, 0.14}, 0.065, 0.065);
  }
  easel_.stroke({{0, top + 0.06}, {0, crotch}}, seam_, 0.007);
  waistband();
}

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
