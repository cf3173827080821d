#include "stages/dataset/wardrobe/figure.hpp"

#include <algorithm>
#include <cmath>

namespace seam::stages::wardrobe {

void UpperGarment::paint() {
  const Fabric inner = solid(scaled(colours_.base, 0.55));
  const double w = design_.neck_width;
  if (design_.hood) hood_behind();
  if (!pose_.back() && !design_.hood) {  // the inside of the back, seen through the neck
    easel_.fill(Outline({-w, -0.815})
                    .curve({-w * 0.5, -0.845}, {w * 0.5, -0.845}, {w, -0.815})
                    .curve({w * 0.6, -0.75}, {-w * 0.6, -0.75}, {-w, -0.815}),
                inner, 0.01);
    if (!pose_.worn) easel_.fill(neck_curve(), inner, 0.01);
    if (pose_.worn) {
      easel_.fill(
          tube({{0, -0.93}, {0, -0.84}, {0, -0.74}, {0, -0.66}}, {0.058, 0.06, 0.085, 0.07}),
          solid(pose_.skin, false), 0.02);
    }
  }
  if (design_.sleeve_length > 0 && !pose_.worn) sleeves();
  if (design_.opening > 0 && !pose_.back()) {
    easel_.fill(Outline({-0.16, -0.79})
                    .line({0.16, -0.79})
                    .line({0.2, std::min(design_.hem_y - 0.03, 0.22)})
                    .line({-0.2, std::min(design_.hem_y - 0.03, 0.22)}),
                solid(pose_.companion), 0.03);
    open_fronts();
  } else {
    easel_.fill(torso(), front_, 0.055);
  }
  skirt_details(design_.waist_y, design_.waist);
  if (!pose_.back()) front_details();
  hem_trim();
  if (design_.sleeve_length > 0 && pose_.worn) sleeves();
  if (design_.sleeve_length <= 0) armhole_trim();
  collar();
}

Points UpperGarment::neck_curve() const {
  const double w = design_.neck_width;
  const double y = -0.805;
  const double depth = pose_.back() ? 0.035 : design_.neck_depth;
  Outline curve({-w, y});
  const Neckline shape = pose_.back() ? Neckline::crew : design_.neckline;
  switch (shape) {
    case Neckline::vee:
      curve.curve({-w * 0.8, y + depth * 0.35}, {-w * 0.3, y + depth * 0.8}, {0, y + depth});
      curve.curve({w * 0.3, y + depth * 0.8}, {w * 0.8, y + depth * 0.35}, {w, y});
      break;
    case Neckline::square:
      curve.line({-w * 0.92, y + depth}).line({w * 0.92, y + depth}).line({w, y});
      break;
    default:
      curve.curve({-w * 0.85, y + depth * 1.33}, {w * 0.85, y + depth * 1.33}, {w, y});
      break;
  }
  return curve.points();
}

Point UpperGarment::shoulder() const {
  return design_.sleeve_length > 0 ? Point(design_.shoulder, -0.715)
                                   : Point(std::min(design_.neck_width + 0.09, 0.27), -0.755);
}

void UpperGarment::meet_hem(Point& p, const Point& end) const {
  const double from = std::min(design_.waist_y, design_.hem_y - 0.12);
  const double t = std::clamp((p.y - from) / (design_.hem_y - from), 0.0, 1.0);
  p.y += t * (end.y - design_.hem_y);
  p.x += t * pose_.hips;
}

Points UpperGarment::torso() const {
  const Point tip = shoulder();
  const Point pit(design_.chest, -0.46);
  const Point waist(design_.waist, design_.waist_y);
  const double hem = design_.hem_width;
  Outline outline(neck_curve().front());
  outline.follow(neck_curve());
  outline.curve(along(outline.points().back(), tip, 0.4),
                along(outline.points().back(), tip, 0.8) + Point(0, -0.012), tip);
  if (design_.sleeve_length > 0) {
    outline.curve(tip + Point(0.005, 0.08), pit + Point(-0.01, -0.1), pit);
  } else {
    outline.curve(tip + Point(-0.05, 0.14), pit + Point(-0.07, -0.03), pit);
  }
  const double drop = design_.hem_y - waist.y;
  if (drop > 0.15) {
    outline.curve(pit + Point(-0.01, 0.12), waist + Point(0, -0.12), waist);
    const double hip = std::max(hem * 0.75, 0.24);
    outline.curve(waist + Point(0.005, std::min(drop * 0.25, 0.1)),
                  {std::min(hip, hem + 0.02), waist.y + drop * 0.45}, {hem, design_.hem_y});
  } else {
    outline.curve(pit + Point(-0.01, 0.1), {hem, design_.hem_y - 0.1}, {hem, design_.hem_y});
  }
  // The other half: the same way back, mirrored, from hem to shoulder.
  const Points hem_points = hem_line(hem, design_.hem_y);
  Points all = outline.points();
  const std::size_t neck = neck_curve().size() + 1;
  for (std::size_t i = all.size(); i > neck; --i) all.push_back(mirrored(all[i - 1]));
  const std::size_t half = all.size() - (all.size() - neck) / 2;
  for (std::size_t i = neck; i < all.size(); ++i) {
    meet_hem(all[i], i < half ? hem_points.front() : hem_points.back());
  }
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(half), hem_points.begin(), hem_points.end());
  return all;
}

void UpperGarment::open_fronts() {
  const Points whole = torso();
  for (const int side : {-1, 1}) {
    // Cut the torso along a line from the neck to the hem, off the middle.
    Points half;
    for (const Point& p : whole) {
      const double t = std::clamp((p.y + 0.8) / (design_.hem_y + 0.8), 0.0, 1.0);
      const double cut = design_.opening * (0.35 + 0.65 * t) + 0.012;
      half.emplace_back(side > 0 ? std::max(p.x, cut) : std::min(p.x, -cut), p.y);
    }
    easel_.fill(half, front_, 0.05);
  }
}

void UpperGarment::sleeves() {
  for (const int side : {-1, 1}) {
    const double longest = 0.06 + design_.sleeve_length * 0.94;
    const auto width = [this](double t) {
      const double grown =
          design_.sleeve_length > 0.5 && design_.cuff_width > design_.sleeve_width ? t * t : t;
      return (design_.sleeve_width + (design_.cuff_width - design_.sleeve_width) * grown) * 0.78;
    };
    Points middle;
    std::vector<double> widths;
    constexpr int steps = 8;
    for (int i = 0; i <= steps; ++i) {
      const double t = double(i) / steps;
      middle.push_back(arm(side, std::max(0.1, 0.02 + t * longest)));
      widths.push_back(width(t));
    }
    middle.front() = arm(side, 0.02);
    const Points outline_of_tube = tube(middle, widths);
    // tube() runs down one side and back on the other; join both to the shoulder and the armpit.
    const Point tip(side * (design_.shoulder - 0.015), -0.722);
    const Point pit(side * (design_.chest - 0.035), -0.45);
    Points outline(outline_of_tube.begin() + 1, outline_of_tube.end() - 1);
    const bool outer_last =
        side > 0 ? outline.back().x > outline.front().x : outline.back().x < outline.front().x;
    if (outer_last) std::reverse(outline.begin(), outline.end());
    Outline sleeve(tip);
    sleeve.curve(tip + Point(side * 0.045, 0.02), outline.front() + Point(0, -0.05),
                 outline.front());
    sleeve.follow(outline);
    sleeve.line(pit);
    sleeve.curve(pit + Point(-side * 0.01, -0.1), tip + Point(-side * 0.012, 0.1), tip);
    Fabric fabric = cloth_;
    if (design_.contrast_sleeves) fabric = solid(trim_);
    const Point start = arm(side, 0);
    const Point way = arm(side, 0.5) - start;
    fabric.turn = std::atan2(-way.x, way.y);
    fabric.origin = start + way * 0.5;
    easel_.fill(sleeve, fabric, 0.035);
    easel_.stroke(
        Outline(tip).curve(tip + Point(-side * 0.012, 0.1), pit + Point(-side * 0.01, -0.1), pit),
        seam_, 0.006);
    cuff(side, middle, widths);
  }
}

void UpperGarment::cuff(int side, const Points& middle, const std::vector<double>& widths) {
  const std::size_t last = middle.size() - 1;
  const Point way = middle[last] - middle[last - 1];
  const double length = std::max(std::hypot(way.x, way.y), 1e-6);
  const Point unit = way * (1 / length);
  const Point aside(-unit.y, unit.x);
  const double w = widths[last];
  if (design_.sleeve_bands) {
    const double deep = design_.sleeve_length > 0.6 ? 0.06 : 0.032;
    easel_.fill(
        tube({middle[last] - unit * deep, middle[last] + unit * 0.008}, {w * 0.98, w * 0.96}),
        solid(trim_), 0.02);
  } else {
    const Point at = middle[last] - unit * 0.03;
    easel_.stroke({at + aside * w, at - aside * w}, seam_, 0.006);
  }
  if (pose_.worn && design_.sleeve_length > 0.8) {
    easel_.fill(ellipse(arm(side, 1.09), 0.033, 0.05), solid(pose_.skin, false), 0.015);
  }
}

void UpperGarment::armhole_trim() {
  const Point tip = shoulder();
  const Point pit(design_.chest, -0.46);
  for (const int side : {-1, 1}) {
    Points line =
        Outline(tip).curve(tip + Point(-0.05, 0.14), pit + Point(-0.07, -0.03), pit).points();
    for (Point& p : line) p.x *= side;
    easel_.stroke(line, design_.sleeve_bands ? trim_ : seam_, design_.sleeve_bands ? 0.022 : 0.009);
  }
}

void UpperGarment::front_details() {
  const double neck = -0.805 + design_.neck_depth;
  const double bottom = design_.hem_y - 0.02;
  const double opening = design_.opening;
  switch (design_.closure) {
    case Closure::none:
      break;
    case Closure::half_placket: {
      const double end = neck + 0.26;
      easel_.stroke({{-0.022, neck}, {-0.022, end}, {0.022, end}, {0.022, neck}}, seam_, 0.006);
      for (int i = 0; i < 3; ++i) button({0, neck + 0.05 + 0.085 * i});
      break;
    }
    case Closure::buttons: {
      if (opening <= 0) {
        easel_.stroke({{-0.026, neck}, {-0.026, bottom}}, seam_, 0.006);
        easel_.stroke({{0.026, neck}, {0.026, bottom}}, seam_, 0.006);
      }
      for (int i = 0; i < design_.buttons; ++i) {
        button({-opening, neck + 0.04 + (bottom - neck - 0.08) * (i + 0.3) / design_.buttons});
      }
      break;
    }
    case Closure::double_breasted:
      easel_.stroke({{0.07, neck}, {0.09, bottom}}, seam_, 0.007);
      for (int i = 0; i < 3; ++i) {
        for (const double x : {-0.075, 0.055}) {
          button({x + (x < 0 ? -opening : opening), neck + 0.06 + 0.13 * i});
        }
      }
      break;
    case Closure::zip:
      if (opening <= 0) {
        easel_.stroke({{0, neck}, {0, bottom}}, seam_, 0.02);
        easel_.stroke({{0, neck}, {0, bottom}}, {196, 196, 200}, 0.007);
        easel_.fill(ellipse({0, neck + 0.05}, 0.011, 0.025), solid({206, 206, 210}, false), 0.005);
      }
      break;
  }
  pockets();
}

void UpperGarment::hood_behind() {
  easel_.fill(Outline({-0.2, -0.76})
                  .curve({-0.23, -0.98}, {-0.08, -1.0}, {0, -0.99})
                  .curve({0.08, -1.0}, {0.23, -0.98}, {0.2, -0.76})
                  .curve({0.1, -0.66}, {-0.1, -0.66}, {-0.2, -0.76}),
              cloth_, 0.04);
  if (pose_.back()) return;
  easel_.fill(ellipse({0, -0.83}, 0.125, 0.1), solid(scaled(colours_.base, 0.5)), 0.02);
  if (pose_.worn) {
    easel_.fill(tube({{0, -0.98}, {0, -0.84}, {0, -0.7}}, {0.058, 0.06, 0.09}),
                solid(pose_.skin, false), 0.02);
    easel_.fill(ellipse({0, -1.03}, 0.09, 0.12), solid(pose_.skin, false), 0.03);
    fringe();
  }
}

void UpperGarment::collar() {
  const double w = design_.neck_width;
  const double low = -0.805 + design_.neck_depth;
  if (design_.hood) {
    if (pose_.back()) {
      hood_behind();
      return;
    }
    for (const int side : {-1, 1}) {  // the hood's edges meet under the chin, with cords
      easel_.fill(tube({{side * 0.155, -0.84}, {side * 0.11, -0.76}, {side * 0.015, low + 0.01}},
                       {0.035, 0.038, 0.03}),
                  cloth_, 0.02);
      easel_.stroke(
          {{side * 0.045, low - 0.01}, {side * 0.05, low + 0.1}, {side * 0.042, low + 0.2}},
          colours_.accent, 0.012);
    }
    return;
  }
  switch (design_.collar) {
    case Collar::none:
      easel_.stroke(neck_curve(), seam_, 0.01);
      break;
    case Collar::rib:
      easel_.stroke(neck_curve(), trim_, 0.03);
      break;
    case Collar::turtle:
      easel_.fill(Outline({-w - 0.005, -0.775})
                      .curve({-w + 0.02, -0.86}, {-w + 0.02, -0.9}, {-w + 0.015, -0.94})
                      .curve({-0.03, -0.92}, {0.03, -0.92}, {w - 0.015, -0.94})
                      .curve({w - 0.02, -0.9}, {w - 0.02, -0.86}, {w + 0.005, -0.775})
                      .curve({0.04, -0.73}, {-0.04, -0.73}, {-w - 0.005, -0.775}),
                  cloth_, 0.025);
      easel_.stroke(Outline({-w, -0.85}).curve({-0.03, -0.825}, {0.03, -0.825}, {w, -0.85}), seam_,
                    0.006);
      break;
    case Collar::stand:
      for (const int side : {-1, 1}) {
        easel_.fill(
            Outline({side * (w + 0.01), -0.79})
                .line({side * (w - 0.005), -0.87})
                .curve({side * 0.08, -0.85}, {side * 0.04, low - 0.04}, {side * 0.008, low - 0.05})
                .line({side * 0.008, low + 0.01})
                .curve({side * 0.05, low}, {side * 0.1, -0.75}, {side * (w + 0.01), -0.79}),
            cloth_, 0.012);
      }
      break;
    case Collar::shirt:
      if (pose_.back()) {
        easel_.fill(Outline({-w - 0.02, -0.78})
                        .curve({-0.07, -0.9}, {0.07, -0.9}, {w + 0.02, -0.78})
                        .curve({0.06, -0.73}, {-0.06, -0.73}, {-w - 0.02, -0.78}),
                    cloth_, 0.015);
        break;
      }
      for (const int side : {-1, 1}) {
        easel_.fill(Outline({side * (w - 0.01), -0.865})
                        .curve({side * 0.08, -0.82}, {side * 0.04, low - 0.03}, {side * 0.004, low})
                        .line({side * 0.075, low + 0.085})
                        .line({side * (w + 0.045), -0.765}),
                    cloth_, 0.012);
        easel_.stroke(
            {{side * 0.004, low}, {side * 0.075, low + 0.085}, {side * (w + 0.045), -0.765}}, seam_,
            0.006);
      }
      break;
    case Collar::lapels:
      if (pose_.back()) {
        easel_.stroke(neck_curve(), seam_, 0.03);
        break;
      }
      for (const int side : {-1, 1}) {
        const double gap = design_.opening;
        easel_.fill(Outline({side * (w - 0.01), -0.85})
                        .line({side * (w + 0.055), -0.76})
                        .line({side * (w + 0.085), low - 0.2})
                        .line({side * (w + 0.045), low - 0.21})
                        .line({side * (w + 0.075), low - 0.13})
                        .curve({side * 0.11, low - 0.03}, {side * 0.05, low + 0.03},
                               {side * (0.004 + gap), low + 0.05})
                        .curve({side * (0.03 + gap), low - 0.1}, {side * 0.08, -0.75},
                               {side * (w - 0.01), -0.85}),
                    cloth_, 0.014);
      }
      break;
  }
}

}  // namespace seam::stages::wardrobe
