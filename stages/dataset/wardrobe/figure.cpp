#include "stages/dataset/wardrobe/figure.hpp"

#include <algorithm>
#include <cmath>

#include "stages/dataset/wardrobe/cloth.hpp"

namespace seam::stages::wardrobe {
namespace {

constexpr double neck_y = -0.805;
constexpr double shoulder_y = -0.715;
constexpr double crotch_y = 0.37;

class Figure {
 public:
  Figure(Easel& easel, const GarmentDesign& design, const Colourway& colours, const Pose& pose)
      : easel_(easel),
        design_(design),
        colours_(colours),
        pose_(pose),
        trim_(mixed(colours.base, colours.second, 0.85)),
        seam_(brightness(colours.base) > 60 ? colours.base * 0.6 : colours.base + Colour::all(50)) {
  }

  void paint(Random& random) {
    if (design_.kind == Kind::hoodie) hood();
    if (pose_.worn) {
      person();
    } else if (design_.is_upper()) {  // the inside of the back
      easel_.fill(ellipse({0, neck_y + 0.02}, design_.neck_width, 0.04), colours_.base * 0.5);
    }
    easel_.lay_folds(random, design_.top(), design_.bottom());
    if (design_.is_upper()) {
      upper_garment();
    } else if (design_.is_legged()) {
      trousers();
    } else {
      skirt();
    }
    if (design_.kind == Kind::hoodie && pose_.back) hood();
  }

 private:
  /// `t` of the way to the wrist.
  [[nodiscard]] Point arm(int side, double t) const {
    const std::size_t which = side > 0 ? 1 : 0;
    const double angle = pose_.arms[which];
    const double bent = angle + pose_.elbows[which];
    const double upper = std::min(t * 0.83, 0.43);
    const double fore = t * 0.83 - upper;
    return {side * (0.27 + upper * std::sin(angle) + fore * std::sin(bent)),
            -0.655 + upper * std::cos(angle) + fore * std::cos(bent)};
  }
  [[nodiscard]] Point leg(int side, double y) const {
    return {side * (0.115 + pose_.stance * std::clamp((y - 0.1) / 1.3, 0.0, 1.0)), y};
  }

  /// In other clothes.
  void person() {
    const bool upper = design_.is_upper();
    const bool in_trousers = upper && design_.hem_y < 0.5;
    const Points trunk{{0, -0.78},   {0.1, -0.76}, {0.28, -0.7}, {0.27, -0.45},
                       {0.19, -0.1}, {0.25, 0.2},  {0.2, 0.36},  {0, 0.36}};
    const bool bare = upper && design_.kind != Kind::jacket;
    easel_.fill(symmetric(trunk), bare ? pose_.skin : pose_.companion, 0.05);
    for (const int side : {-1, 1}) {
      easel_.fill(ellipse(leg(side, 1.41), 0.06, 0.045), pose_.hair * 0.7);
      easel_.fill(tube({leg(side, -0.05), leg(side, 0.45), leg(side, 0.9), leg(side, 1.36)},
                       {0.125, 0.115, 0.07, 0.045}),
                  in_trousers ? pose_.companion : pose_.skin);
      easel_.fill(tube({arm(side, 0), arm(side, 0.25), arm(side, 0.5), arm(side, 1)},
                       {0.06, 0.055, 0.045, 0.03}),
                  pose_.skin);
      easel_.fill(ellipse(arm(side, 1.07), 0.034, 0.058), pose_.skin);
    }
    easel_.fill(tube({{0, -0.98}, {0, -0.84}, {0, -0.72}}, {0.058, 0.06, 0.11}), pose_.skin);
    easel_.fill(ellipse({0, -1.06}, 0.125, 0.16), pose_.hair);
    if (!pose_.back) easel_.fill(ellipse({0, -1.02}, 0.09, 0.125), pose_.skin);
  }

  /// Completes the right half of an outline, from the waist.
  void add_skirt(Points& half) const {
    const double length = design_.hem_y - design_.waist_y;
    const double hip = std::max(0.75 * design_.hem_width, 0.24);
    const Point corner(design_.hem_width, design_.hem_y);
    half.emplace_back(design_.waist, design_.waist_y);
    if (length > 0.15) {
      half.emplace_back(std::min(hip, corner.x + 0.02), design_.waist_y + 0.45 * length);
    }
    half.insert(half.end(), {corner, corner});
    half.emplace_back(0.5 * corner.x, corner.y + 0.75 * design_.hem_drop);
    half.emplace_back(0, corner.y + design_.hem_drop);
  }

  void skirt() {
    Points half{{0, design_.waist_y}, {design_.waist, design_.waist_y}};
    add_skirt(half);  // begins with the same point, so that it is a corner
    easel_.cut(symmetric(half), 0.05);
    hem_and_belt();
  }

  void trousers() {
    const double top = design_.waist_y;
    const double end = design_.bottom();
    for (const int side : {-1, 1}) {
      const Point knee = leg(side, std::min(0.85, (crotch_y + end) / 2));
      const Point foot = leg(side, end);
      const Point out(side, 0);
      const Point waist(side * design_.waist, top);
      const Point outer = foot + out * design_.ankle_width;
      // Wide legs stop at the middle of the body, or shorts would look like a skirt.
      const Point inner = foot - out * std::min(design_.ankle_width, std::abs(foot.x) - 0.015);
      const double inside = std::min(design_.knee_width, std::abs(knee.x) - 0.015);
      const Point crotch(0, crotch_y);
      easel_.cut(smooth({{0, top},
                         waist,
                         waist,
                         {side * 0.262, 0.2},
                         knee + out * design_.knee_width,
                         outer,
                         outer,
                         inner,
                         inner,
                         knee - out * inside,
                         crotch,
                         crotch}),
                 0.045);
      const Point up(0, -0.025);
      if (design_.bands) easel_.fill(tube({outer + up, inner + up}, {0.03, 0.03}), trim_);
      if (pose_.back) pocket({side * 0.12, 0.12}, 0.06, 0.06);
    }
    easel_.stroke({{0, top}, {0, crotch_y}}, seam_, 0.008);
    hem_and_belt();
  }

  void upper_garment() {
    const double width = design_.neck_width;
    const double depth = pose_.back ? 0.04 : design_.neck_depth;
    const bool sleeved = design_.sleeve_length > 0;
    const Point neck(width, neck_y);
    const Point tip = sleeved ? Point(design_.chest + 0.02, shoulder_y)
                              : Point(std::min(width + 0.09, 0.27), shoulder_y - 0.04);
    Points half{{0, neck_y + depth}};
    if (pose_.back || !design_.v_neck) {
      half.emplace_back(width * 0.55, neck_y + depth * 0.85);
      half.emplace_back(width * 0.88, neck_y + depth * 0.5);
    }
    half.push_back(neck);
    const Points neckline = smooth(half);
    half.insert(half.end(), {neck, tip, tip});
    if (!sleeved) half.emplace_back(design_.chest - 0.06, -0.55);
    half.emplace_back(design_.chest, -0.46);
    add_skirt(half);
    if (sleeved && !pose_.worn) sleeves();
    easel_.cut(symmetric(half), 0.05);
    if (!pose_.back) front(neck_y + depth);
    hem_and_belt();
    if (sleeved && pose_.worn) sleeves();
    if (pose_.back || !design_.is_collared()) {
      easel_.stroke(neckline, trim_, 0.03);
      easel_.stroke(mirrored(neckline), trim_, 0.03);
    } else {
      collar(neck_y + depth);
    }
  }

  /// Buttons, pockets and print.
  void front(double neck) {
    const double length = design_.hem_y + design_.hem_drop - neck;
    const bool light = brightness(colours_.base) > 120;
    const Colour button = light ? Colour(56, 62, 70) : Colour(214, 230, 236);
    if (design_.buttons > 0) easel_.stroke({{0, neck}, {0, neck + length}}, seam_, 0.008);
    for (int i = 0; i < design_.buttons; ++i) {
      const double y = neck + length * (i + 0.5) / design_.buttons;
      easel_.fill(ellipse({0, y}, 0.017, 0.017), button, 0.006);
    }
    if (design_.pockets && design_.kind == Kind::hoodie) {
      pocket({0, design_.hem_y - 0.14}, 0.16, 0.09);
    } else if (design_.pockets) {
      for (const int side : {-1, 1}) pocket({side * 0.13, -0.38}, 0.055, 0.065);
    }
    if (design_.print_size > 0) {
      easel_.fill(placed(motif_outline(design_), {0, -0.33}, design_.print_size, 0),
                  colours_.accent, 0.01);
    }
  }

  void pocket(Point at, double w, double h) {
    const Point corner(-w, -h);
    easel_.stroke({at + corner, at + Point(-w, h * 0.7), at + Point(0, h), at + Point(w, h * 0.7),
                   at - Point(-w, h), at + corner},
                  seam_, 0.009);
  }

  /// A strip of another colour across the garment.
  void strip(double y, double half_width, double drop, const Colour& colour) {
    const Points line = smooth({{-half_width, y}, {0, y + drop}, {half_width, y}});
    easel_.fill(tube(line, std::vector<double>(line.size(), 0.028)), colour, 0.012);
  }

  void hem_and_belt() {
    if (design_.bands && !design_.is_legged()) {
      strip(design_.hem_y - 0.02, design_.hem_width * 0.98, design_.hem_drop, trim_);
    }
    if (design_.belt) strip(design_.waist_y + 0.02, design_.waist, 0.015, colours_.accent);
  }

  void sleeves() {
    for (const int side : {-1, 1}) {
      Points line{{side * (design_.chest - 0.05), shoulder_y + 0.02}};
      std::vector<double> widths{design_.sleeve_width * 0.45};
      constexpr int steps = 8;
      for (int i = 1; i <= steps; ++i) {
        const double t = double(i) / steps;
        line.push_back(arm(side, 0.05 + 0.95 * design_.sleeve_length * t));
        widths.push_back(design_.sleeve_width + (design_.cuff_width - design_.sleeve_width) * t);
      }
      if (design_.contrast_sleeves) {
        easel_.fill(tube(line, widths), trim_);
      } else {
        easel_.cut(tube(line, widths));
      }
      const Point end = line.back();
      const Point cuff = end - (end - line[line.size() - 2]) * (design_.bands ? 0.7 : 0.2);
      easel_.fill(tube({cuff, end}, {widths.back(), widths.back()}), design_.bands ? trim_ : seam_);
    }
  }

  void hood() {
    easel_.fill(symmetric({{0, -1.0}, {0.14, -0.98}, {0.2, -0.76}, {0.12, -0.68}, {0, -0.66}}),
                colours_.base, 0.04);
    if (!pose_.back) easel_.fill(ellipse({0, -0.84}, 0.125, 0.11), colours_.base * 0.5);
  }

  void collar(double low) {
    const double wing = 0.3 * design_.neck_depth;
    for (const int side : {-1, 1}) {
      easel_.cut({{side * (design_.neck_width - 0.01), -0.865},
                  {side * 0.004, low},
                  {side * 0.085, low + 0.085 - wing},
                  {side * (design_.neck_width + 0.05), wing - 0.765}},
                 0.012);
    }
  }

  Easel& easel_;
  const GarmentDesign& design_;
  const Colourway& colours_;
  const Pose& pose_;
  Colour trim_;
  Colour seam_;
};

}  // namespace

Pose strike(Random& random, bool worn, bool back) {
  Pose pose;
  pose.worn = worn;
  pose.back = back;
  for (double& angle : pose.arms) angle = random.uniform(0.06, 0.36) + (worn ? 0.0 : 0.45);
  for (double& angle : pose.elbows) angle = random.uniform(-0.35, 0.15);
  pose.stance = random.uniform(0.0, 0.08);
  pose.skin = mixed({190, 212, 243}, {50, 68, 104}, random.uniform());
  pose.hair = mixed({26, 30, 40}, {112, 170, 208}, random.uniform());
  pose.companion = mixed({230, 232, 232}, {56, 40, 32}, random.uniform());
  return pose;
}

void paint_figure(Easel& easel, const GarmentDesign& design, const Colourway& colours,
                  const Pose& pose, Random& random) {
  Figure(easel, design, colours, pose).paint(random);
}

}  // namespace seam::stages::wardrobe
