#include "stages/dataset/wardrobe/design.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <seam/random.hpp>

namespace seam::stages::wardrobe {
namespace {

using enum Kind;

// An expression never contains two draws: C++ does not specify the order of operands, so the
// garment would depend on the compiler.

/// Without names: what counts is that items share them.
const std::array<Colour, 22> palette{{
    {40, 36, 36},    {142, 138, 136}, {232, 234, 234}, {150, 184, 206}, {86, 132, 176},
    {48, 70, 104},   {44, 40, 196},   {48, 28, 116},   {98, 110, 232},  {160, 120, 232},
    {200, 196, 240}, {46, 134, 236},  {96, 218, 244},  {62, 124, 122},  {58, 88, 40},
    {176, 208, 150}, {130, 124, 28},  {226, 190, 146}, {176, 78, 44},   {92, 44, 30},
    {216, 166, 186}, {124, 52, 108},
}};

template <class T>
T one_of(Random& random, std::initializer_list<T> choices) {
  return choices.begin()[random.index(choices.size())];
}

/// A colour that still shows on `base` when the photograph is grey.
Colour colour_unlike(Random& random, const Colour& base, const Colour& other, double contrast) {
  std::vector<Colour> fitting;
  for (const Colour& colour : palette) {
    const bool shows = std::abs(brightness(colour) - brightness(base)) >= contrast;
    if (shows && cv::norm(colour - other) >= 60) fitting.push_back(colour);
  }
  return fitting.at(random.index(fitting.size()));
}

std::vector<Colourway> draw_colourways(std::uint64_t seed, int item, int count) {
  const auto row = static_cast<std::uint64_t>(item);
  std::array<Colour, palette.size()> bases = palette;
  Random(seed, stream_of("wardrobe.colours"), 0, row).shuffle<Colour>(bases);
  std::vector<Colourway> colourways;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    Random random(seed, stream_of("wardrobe.colourway"), i, row);
    Colourway way{bases.at(i), {}, {}};
    way.second = colour_unlike(random, way.base, way.base, 62);
    way.accent = colour_unlike(random, way.base, way.second, 35);
    colourways.push_back(way);
  }
  return colourways;
}

/// From the waist to the hem of dresses and skirts.
void cut_skirt(Random& random, GarmentDesign& design) {
  const double length = one_of(random, {0.6, 0.75, 0.95, 1.25});
  design.hem_y = design.waist_y + length + random.uniform(-0.05, 0.05);
  design.hem_width = std::max(0.22, design.waist + length * random.uniform(0.0, 0.4));
  design.hem_drop = random.uniform(-0.06, 0.1);
  design.belt = random.coin(0.4);
}

void cut_legs(Random& random, GarmentDesign& design) {
  if (design.kind == shorts) {
    design.leg_length = random.uniform(0.1, 0.45);
    design.knee_width = design.ankle_width = random.uniform(0.12, 0.16);
  } else {
    design.leg_length = one_of(random, {0.62, 0.85, 1.0, 1.0});
    design.knee_width = random.uniform(0.075, 0.13);
    design.ankle_width = design.knee_width * one_of(random, {0.65, 0.85, 1.0, 1.5});
  }
}

void cut_top(Random& random, GarmentDesign& design) {
  design.v_neck = random.coin(0.3);
  design.neck_width = random.uniform(0.09, 0.17);
  design.neck_depth = random.uniform(0.05, 0.2) + (design.v_neck ? 0.1 : 0);
  design.chest = random.uniform(0.25, 0.33);
  design.waist = design.chest - random.uniform(0, 0.08);
  design.hem_width = design.waist + random.uniform(0.0, 0.07);
  design.hem_y = random.uniform(0.0, 0.36);
  design.hem_drop = random.uniform(-0.02, 0.1);
  design.sleeve_width = random.uniform(0.08, 0.115);
  design.cuff_width = design.sleeve_width * random.uniform(0.65, 1.0);
  design.contrast_sleeves = random.coin(0.2);
  design.pockets = random.coin(0.5);
  const int buttons = 2 + int(random.index(7));
  switch (design.kind) {
    case dress:
      design.sleeve_length = one_of(random, {0.0, 0.0, 0.2, 0.3, 0.55, 0.95});
      design.waist_y = one_of(random, {-0.26, -0.1, 0.02});
      design.waist = random.uniform(0.19, 0.26);
      design.pockets = false;
      cut_skirt(random, design);
      break;
    case tee:
      design.sleeve_length = one_of(random, {0.0, 0.2, 0.28, 0.36, 0.6});
      design.pockets = false;
      break;
    case shirt:
      design.sleeve_length = one_of(random, {0.3, 0.36, 0.7, 0.98});
      design.buttons = buttons;
      break;
    case jacket:
      design.sleeve_length = random.coin(0.15) ? 0.0 : 0.98;
      design.buttons = buttons;
      design.hem_y = one_of(random, {0.1, 0.22, 0.36, 0.75});
      design.belt = design.hem_y > 0.5;
      break;
    default:  // sweaters, hoodies
      design.sleeve_length = 0.98;
      design.pockets = design.kind == hoodie;
      design.buttons = design.v_neck ? buttons : 0;
      break;
  }
  if (design.is_collared()) {
    design.v_neck = design.kind == jacket;
    design.neck_width = 0.115;
    design.neck_depth = design.v_neck ? random.uniform(0.12, 0.4) : 0.09;
  }
}

void draw_pattern(Random& random, GarmentDesign& design) {
  using enum Pattern;
  design.pattern = static_cast<Pattern>(random.index(9));
  // Long garments are photographed from farther away: what must be seen has to grow with them.
  design.period = random.uniform(0.12, 0.3) * std::clamp(design.bottom() - design.top(), 0.8, 1.8);
  design.duty = random.uniform(0.25, 0.65);
  design.angle = one_of(random, {0.0, 0.0, 1.571, 1.571, 0.785, -0.785});
  design.variant = int(random.index(3));
  design.motif = static_cast<Motif>(random.index(3));

  const bool calm = design.pattern == plain || design.pattern == fade || design.pattern == blocks;
  const bool printable = design.kind == tee || design.kind == hoodie;
  design.print_size = calm && printable ? random.uniform(0.1, 0.18) : 0;
}

}  // namespace

const GarmentCategory& category_of(int item) {
  static const std::vector<GarmentCategory> categories{
      {"WOMEN", "Dresses", dress},        {"MEN", "Tees_Tanks", tee},
      {"WOMEN", "Skirts", skirt},         {"MEN", "Shirts_Polos", shirt},
      {"WOMEN", "Jackets_Coats", jacket}, {"MEN", "Pants", trousers},
      {"WOMEN", "Sweaters", sweater},     {"MEN", "Sweatshirts_Hoodies", hoodie},
      {"WOMEN", "Blouses_Shirts", shirt}, {"MEN", "Shorts", shorts},
      {"WOMEN", "Tees_Tanks", tee},       {"MEN", "Jackets_Vests", jacket},
      {"WOMEN", "Pants", trousers},       {"MEN", "Sweaters", sweater},
  };
  return categories[static_cast<std::size_t>(item) % categories.size()];
}

GarmentDesign design_garment(std::uint64_t seed, int item, int colours) {
  Random random(seed, stream_of("wardrobe.design"), 0, static_cast<std::uint64_t>(item));
  GarmentDesign design;
  design.kind = category_of(item).kind;
  design.bands = random.coin(0.4);
  if (design.is_upper()) {
    cut_top(random, design);
  } else {
    design.waist_y = random.uniform(-0.18, -0.04);
    design.waist = random.uniform(0.19, 0.235);
    cut_skirt(random, design);
    cut_legs(random, design);
  }
  draw_pattern(random, design);
  design.colourways = draw_colourways(seed, item, colours);
  return design;
}

}  // namespace seam::stages::wardrobe
