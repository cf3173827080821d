#include "stages/dataset/wardrobe/design.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <seam/random.hpp>

#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages {
namespace {

using enum GarmentKind;

// An expression never contains two draws: C++ does not specify the order of operands, so the
// garment would depend on the compiler.

/// Without names: what counts is that items share them.
constexpr std::array<Colour, 26> palette{{
    {36, 36, 40},    {74, 76, 82},    {136, 138, 142}, {234, 234, 232}, {240, 230, 208},
    {206, 184, 150}, {176, 132, 86},  {104, 70, 48},   {196, 40, 44},   {116, 28, 48},
    {232, 110, 98},  {232, 120, 160}, {240, 196, 200}, {236, 134, 46},  {214, 164, 44},
    {244, 218, 96},  {122, 124, 62},  {40, 88, 58},    {150, 208, 176}, {28, 124, 130},
    {146, 190, 226}, {76, 110, 156},  {44, 78, 176},   {30, 40, 80},    {186, 166, 216},
    {108, 52, 124},
}};

double distance(const Colour& a, const Colour& b) {
  return std::sqrt((a.red - b.red) * (a.red - b.red) + (a.green - b.green) * (a.green - b.green) +
                   (a.blue - b.blue) * (a.blue - b.blue));
}

template <class T>
T one_of(Random& random, std::initializer_list<T> choices) {
  return choices.begin()[random.index(choices.size())];
}

Colour some_colour(Random& random) {
  return palette[random.index(palette.size())];
}

/// A colour that still shows on the others when the photograph is grey.
Colour colour_unlike(Random& random, const Colour& base, const Colour& other, double contrast) {
  Colour best = base;
  double best_score = -1;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const Colour candidate = some_colour(random);
    const double grey = std::abs(wardrobe::brightness(candidate) - wardrobe::brightness(base));
    const double apart = distance(candidate, other);
    if (grey >= contrast && apart >= 60) return candidate;
    if (const double score = std::min(grey, apart); score > best_score) {
      best = candidate;
      best_score = score;
    }
  }
  return best;
}

Colourway draw_colourway(std::uint64_t seed, int item, int colour,
                         std::span<const Colourway> earlier) {
  Random random(seed, stream_of("wardrobe.colourway"), static_cast<std::uint64_t>(colour),
                static_cast<std::uint64_t>(item));
  Colourway way;
  for (int attempt = 0; attempt < 20; ++attempt) {
    way.base = some_colour(random);
    const bool is_new = std::all_of(earlier.begin(), earlier.end(), [&way](const Colourway& other) {
      return distance(way.base, other.base) > 50;
    });
    if (is_new) break;
  }
  way.second = colour_unlike(random, way.base, way.base, 62);
  way.accent = colour_unlike(random, way.base, way.second, 35);
  return way;
}

void draw_upper_body(Random& random, GarmentDesign& design, bool men) {
  design.neck_width = random.uniform(0.09, 0.13);
  design.shoulder = (men ? 0.32 : 0.285) + random.uniform(-0.015, 0.03);
  design.chest = (men ? 0.30 : 0.265) + random.uniform(-0.02, 0.05);
  design.waist = men ? design.chest - random.uniform(0, 0.05) : random.uniform(0.19, 0.28);
  design.hem_width = design.waist + random.uniform(0.0, 0.07);
  design.hem_y = random.uniform(0.05, 0.36);
  design.sleeve_width = random.uniform(0.10, 0.15);
  design.cuff_width = design.sleeve_width * random.uniform(0.65, 1.0);
  design.neckline =
      men ? one_of(random, {Neckline::crew, Neckline::crew, Neckline::vee, Neckline::scoop})
          : one_of(random, {Neckline::crew, Neckline::scoop, Neckline::vee, Neckline::boat,
                            Neckline::square});
  switch (design.neckline) {
    case Neckline::crew:
      design.neck_depth = random.uniform(0.05, 0.09);
      break;
    case Neckline::scoop:
      design.neck_depth = random.uniform(0.15, 0.25);
      design.neck_width += 0.03;
      break;
    case Neckline::vee:
      design.neck_depth = random.uniform(0.18, 0.34);
      break;
    case Neckline::boat:
      design.neck_depth = random.uniform(0.03, 0.05);
      design.neck_width = random.uniform(0.17, 0.21);
      break;
    case Neckline::square:
      design.neck_depth = random.uniform(0.14, 0.22);
      design.neck_width = random.uniform(0.13, 0.17);
      break;
  }
  design.hem = one_of(random, {Hem::straight, Hem::straight, Hem::curved, Hem::high_low});
  design.sleeve_bands = random.coin(0.3);
  design.hem_band = random.coin(0.25);
  design.contrast_sleeves = random.coin(0.2);
  design.top_stitching = random.coin(0.4);
}

void draw_dress(Random& random, GarmentDesign& design) {
  draw_upper_body(random, design, /*men=*/false);
  design.sleeve_length = one_of(random, {0.0, 0.0, 0.18, 0.3, 0.55, 0.95});
  if (design.sleeve_length > 0.5 && random.coin(0.4)) {
    design.cuff_width = design.sleeve_width * random.uniform(1.3, 1.8);  // bell sleeves
  }
  design.chest = random.uniform(0.24, 0.27);
  design.waist_y = one_of(random, {-0.28, -0.12, -0.1, 0.02});
  design.hem_y = one_of(random, {0.5, 0.66, 0.85, 1.1, 1.32});
  design.hem_y += random.uniform(-0.05, 0.05);
  const bool fitted = random.coin(0.65);
  design.waist = fitted ? random.uniform(0.185, 0.22) : random.uniform(0.25, 0.3);
  const double length = design.hem_y - design.waist_y;
  design.hem_width =
      std::max(0.2, design.waist + length * one_of(random, {0.03, 0.12, 0.25, 0.36}));
  design.hem_wave = design.hem_width > 0.42 ? random.uniform(0.01, 0.035) : 0;
  design.hem = one_of(random, {Hem::straight, Hem::curved, Hem::high_low});
  design.pleats = design.hem_width > 0.36 && random.coin(0.4) ? 6 + int(random.index(6)) : 0;
  design.tiers = random.coin(0.25) ? 1 + int(random.index(3)) : 0;
  design.belt = fitted && random.coin(0.35);
  design.closure = one_of(random, {Closure::none, Closure::none, Closure::none, Closure::buttons,
                                   Closure::half_placket});
  if (design.closure != Closure::none) {
    design.collar = Collar::shirt;
    design.neckline = Neckline::crew;
    design.neck_width = 0.11;
    design.neck_depth = 0.09;
  }
}

void draw_top(Random& random, GarmentDesign& design, bool men) {
  draw_upper_body(random, design, men);
  switch (design.kind) {
    case tee:
      design.sleeve_length = one_of(random, {0.0, 0.2, 0.28, 0.36, 0.6});
      design.collar = one_of(random, {Collar::rib, Collar::none});
      if (!men && random.coin(0.25)) design.hem_y = random.uniform(-0.08, 0.02);
      design.pockets = random.coin(0.2) ? Pockets::one_chest : Pockets::none;
      break;
    case shirt:
      design.sleeve_length = one_of(random, {0.3, 0.36, 0.7, 0.98, 0.98});
      design.collar = random.coin(0.75) ? Collar::shirt : Collar::stand;
      design.closure = random.coin(0.75) ? Closure::buttons : Closure::half_placket;
      design.neckline = Neckline::crew;
      design.neck_width = 0.115;
      design.neck_depth = 0.09;
      design.hem = one_of(random, {Hem::curved, Hem::curved, Hem::straight});
      design.pockets = one_of(random, {Pockets::none, Pockets::one_chest, Pockets::two_chest});
      design.buttons = 4 + int(random.index(5));
      design.hem_band = false;
      break;
    case sweater:
      design.sleeve_length = one_of(random, {0.7, 0.98, 0.98});
      design.collar = one_of(random, {Collar::rib, Collar::rib, Collar::turtle});
      if (design.collar == Collar::turtle) {
        design.neckline = Neckline::crew;
        design.neck_depth = 0.05;
        design.neck_width = 0.1;
      }
      design.closure = random.coin(0.25) ? Closure::buttons : Closure::none;
      design.hem_band = design.sleeve_bands = random.coin(0.7);
      design.chest += 0.03;
      design.waist = design.chest - random.uniform(0, 0.03);
      design.hem_width = design.waist - random.uniform(0, 0.03);
      break;
    case hoodie:
      design.sleeve_length = 0.98;
      design.hood = true;
      design.neckline = Neckline::crew;
      design.neck_width = 0.12;
      design.neck_depth = 0.1;
      design.closure = random.coin(0.45) ? Closure::zip : Closure::none;
      design.pockets = random.coin(0.8) ? Pockets::kangaroo : Pockets::none;
      design.hem_band = design.sleeve_bands = true;
      design.chest += 0.04;
      design.waist = design.chest;
      design.hem_width = design.waist - 0.02;
      break;
    case jacket:
      design.sleeve_length = random.coin(0.15) ? 0.0 : 0.98;
      design.collar =
          one_of(random, {Collar::lapels, Collar::lapels, Collar::shirt, Collar::stand});
      design.closure = design.collar == Collar::lapels
                           ? one_of(random, {Closure::buttons, Closure::double_breasted})
                           : one_of(random, {Closure::zip, Closure::buttons, Closure::zip});
      design.buttons = design.collar == Collar::lapels ? 2 + int(random.index(2)) : 5;
      design.opening = random.coin(0.35) ? random.uniform(0.03, 0.1) : 0;
      design.neckline = Neckline::vee;
      design.neck_width = 0.12;
      design.neck_depth = design.collar == Collar::lapels ? random.uniform(0.25, 0.45) : 0.12;
      design.pockets = one_of(random, {Pockets::slanted, Pockets::patch, Pockets::two_chest});
      design.hem_y = one_of(random, {0.1, 0.22, 0.36, 0.75});
      design.belt = design.hem_y > 0.5 && random.coin(0.6);
      design.chest += 0.04;
      design.waist += 0.04;
      design.hem_width = design.waist + random.uniform(0.0, 0.06) + (design.hem_y > 0.5 ? 0.08 : 0);
      design.hem = Hem::straight;
      design.hem_band = design.collar == Collar::stand && design.hem_y < 0.3;
      break;
    default:
      break;
  }
}

void draw_lower_body(Random& random, GarmentDesign& design, bool men) {
  design.waist_y = random.uniform(-0.18, -0.04);
  design.waist = (men ? 0.215 : 0.19) + random.uniform(0, 0.02);
  design.top_stitching = random.coin(0.6);
  design.belt = random.coin(0.3);
  design.pockets = one_of(random, {Pockets::none, Pockets::slanted, Pockets::patch});
  if (design.kind == skirt) {
    design.hem_y = one_of(random, {0.46, 0.56, 0.72, 0.95, 1.25});
    design.hem_y += random.uniform(-0.04, 0.04);
    const double length = design.hem_y - design.waist_y;
    design.hem_width =
        std::max(0.23, design.waist + 0.05 + length * one_of(random, {-0.02, 0.12, 0.3, 0.5}));
    design.hem_wave = design.hem_width > 0.4 ? random.uniform(0.01, 0.04) : 0;
    design.hem = one_of(random, {Hem::straight, Hem::curved, Hem::high_low, Hem::peplum});
    design.pleats = random.coin(0.5) ? 5 + int(random.index(8)) : 0;
    design.tiers = random.coin(0.3) ? 1 + int(random.index(3)) : 0;
    design.closure = random.coin(0.3) ? Closure::buttons : Closure::none;
    design.buttons = 4 + int(random.index(4));
    design.hem_band = random.coin(0.3);
    return;
  }
  design.leg_length =
      design.kind == shorts ? random.uniform(0.1, 0.45) : one_of(random, {0.62, 0.85, 1.0, 1.0});
  design.knee_width = design.kind == shorts ? random.uniform(0.12, 0.17)
                                            : one_of(random, {0.075, 0.09, 0.11, 0.135});
  design.ankle_width = design.kind == shorts
                           ? design.knee_width
                           : design.knee_width * one_of(random, {0.65, 0.85, 1.0, 1.5});
  design.closure = Closure::zip;
  design.hem_band = random.coin(0.3);
  design.contrast_sleeves = random.coin(0.2);  // a stripe down the side seam
}

void draw_pattern(Random& random, GarmentDesign& design) {
  using enum Pattern;
  switch (design.kind) {
    case sweater:
      design.pattern = one_of(random, {cable_knit, marl, stripes_across, chest_band, diamonds,
                                       chevrons, block_across, plain, dots, triangles});
      break;
    case shirt:
      design.pattern =
          one_of(random, {plain, stripes_down, stripes_across, gingham, tartan, window_panes, dots,
                          flowers, leaves, block_down, stars, rings});
      break;
    case jacket:
      design.pattern = one_of(random, {plain, marl, tartan, window_panes, camouflage, block_across,
                                       leopard, stripes_down, chevrons, block_slanted});
      break;
    case hoodie:
      design.pattern = one_of(random, {plain, marl, block_across, block_slanted, camouflage,
                                       dip_dye, chest_band, stripes_across, stars, block_down});
      break;
    default:
      design.pattern = static_cast<Pattern>(random.index(24));
      if (design.pattern == cable_knit) design.pattern = stripes_across;
      break;
  }
  // Long garments are photographed from farther away: what must be seen has to grow with them.
  const double extent = design.kind == trousers ? 0.9 + 0.6 * design.leg_length
                        : design.kind == shorts ? 0.8
                        : design.kind == skirt  ? design.hem_y - design.waist_y
                                                : design.hem_y + 0.8;
  design.pattern_period = random.uniform(0.12, 0.3) * std::clamp(extent, 0.8, 1.9) * 0.95;
  design.pattern_duty = random.uniform(0.25, 0.65);
  design.pattern_angle = one_of(random, {0.5, 0.785, -0.5, -0.785});
  design.pattern_variant = static_cast<int>(random.index(3));

  const bool calm = design.pattern == plain || design.pattern == marl ||
                    design.pattern == dip_dye || design.pattern == block_across ||
                    design.pattern == block_slanted;
  const bool printable = design.kind == tee || design.kind == hoodie;
  if (printable && calm && random.coin(0.85)) {
    design.print = static_cast<Print>(1 + random.index(8));
    design.print_size = random.uniform(0.08, 0.16);
    design.print_y = random.uniform(-0.45, -0.2);
  }
}

}  // namespace

const std::vector<GarmentCategory>& garment_categories() {
  static const std::vector<GarmentCategory> categories{
      {"WOMEN", "Dresses", dress},        {"MEN", "Tees_Tanks", tee},
      {"WOMEN", "Skirts", skirt},         {"MEN", "Shirts_Polos", shirt},
      {"WOMEN", "Jackets_Coats", jacket}, {"MEN", "Pants", trousers},
      {"WOMEN", "Sweaters", sweater},     {"MEN", "Sweatshirts_Hoodies", hoodie},
      {"WOMEN", "Blouses_Shirts", shirt}, {"MEN", "Shorts", shorts},
      {"WOMEN", "Tees_Tanks", tee},       {"MEN", "Jackets_Vests", jacket},
      {"WOMEN", "Pants", trousers},       {"MEN", "Sweaters", sweater},
  };
  return categories;
}

GarmentDesign design_garment(std::uint64_t seed, int item, int colours) {
  Random random(seed, stream_of("wardrobe.design"), 0, static_cast<std::uint64_t>(item));
  GarmentDesign design;
  const auto& categories = garment_categories();
  design.category = item % static_cast<int>(categories.size());
  const GarmentCategory& category = categories[static_cast<std::size_t>(design.category)];
  design.kind = category.kind;
  const bool men = category.department == "MEN";
  switch (design.kind) {
    case dress:
      draw_dress(random, design);
      break;
    case skirt:
    case trousers:
    case shorts:
      draw_lower_body(random, design, men);
      break;
    default:
      draw_top(random, design, men);
      break;
  }
  draw_pattern(random, design);
  for (int colour = 0; colour < colours; ++colour) {
    design.colourways.push_back(draw_colourway(seed, item, colour, design.colourways));
  }
  return design;
}

}  // namespace seam::stages
