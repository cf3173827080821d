/// The look of the items of the built-in data set: a tailor's sheet for each, drawn at random from
/// the seed. Cut, pattern, print and details make an item; its colourways change none of them, so
/// that items must be distinguished by more than their colour.
///
///     (seed, item) ──► GarmentDesign ──┬── colourway 1 ──► views (drawing.hpp)
///                                      └── colourway 2 ──► views
///
/// Lengths are in figure units: a standing person's shoulders are at y = -0.72, the waist at -0.1,
/// the crotch at 0.34 and the ankles at 1.4; x = 0 is the middle of the body.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace seam::stages {

enum class GarmentKind : std::uint8_t {
  dress,
  tee,
  shirt,
  sweater,
  hoodie,
  jacket,
  skirt,
  trousers,
  shorts,
};

/// A category of the wardrobe: the folder names are DeepFashion's.
struct GarmentCategory {
  std::string_view department;  ///< "MEN" or "WOMEN"
  std::string_view name;        ///< "Dresses"
  GarmentKind kind;
};

/// All categories that are drawn; item i is of category i modulo their number.
[[nodiscard]] const std::vector<GarmentCategory>& garment_categories();

struct Colour {
  double red = 0;
  double green = 0;
  double blue = 0;  ///< 0..255
};

struct Colourway {
  Colour base;
  Colour second;  ///< pattern
  Colour accent;  ///< print, trim, belt, third colour of a pattern
};

enum class Neckline : std::uint8_t { crew, scoop, vee, boat, square };
enum class Collar : std::uint8_t { none, rib, shirt, lapels, turtle, stand };
enum class Closure : std::uint8_t { none, buttons, half_placket, zip, double_breasted };
enum class Pockets : std::uint8_t { none, one_chest, two_chest, kangaroo, slanted, patch };
enum class Hem : std::uint8_t { straight, curved, high_low, peplum };

enum class Pattern : std::uint8_t {
  plain,
  marl,
  cable_knit,
  stripes_across,
  stripes_down,
  stripes_slanted,
  chest_band,
  chevrons,
  gingham,
  tartan,
  window_panes,
  dots,
  rings,
  diamonds,
  triangles,
  flowers,
  leaves,
  stars,
  camouflage,
  leopard,
  dip_dye,
  block_across,
  block_down,
  block_slanted,
};

enum class Print : std::uint8_t { none, disc, star, heart, mountains, bars, letter, sun, arrow };

/// All properties of an item that do not depend on colour, pose or light.
struct GarmentDesign {
  int category = 0;
  GarmentKind kind = GarmentKind::tee;

  // Upper body; half widths.
  Neckline neckline = Neckline::crew;
  Collar collar = Collar::none;
  double neck_width = 0.1;
  double neck_depth = 0.08;
  double shoulder = 0.3;
  double chest = 0.28;
  double waist = 0.26;
  double sleeve_length = 0.3;  ///< 0 sleeveless, 1 to the wrist
  double sleeve_width = 0.12;
  double cuff_width = 0.1;
  bool contrast_sleeves = false;
  bool sleeve_bands = false;
  bool hood = false;
  double opening = 0;  ///< half width of an open jacket's gap

  // Lower edge, skirts.
  double waist_y = -0.1;
  double hem_y = 0.25;
  double hem_width = 0.28;
  double hem_wave = 0;
  Hem hem = Hem::straight;
  int pleats = 0;
  int tiers = 0;  ///< seams across a skirt

  // Legs.
  double leg_length = 1;  ///< 0 crotch, 1 ankle
  double knee_width = 0.1;
  double ankle_width = 0.08;

  // Details.
  Closure closure = Closure::none;
  int buttons = 5;
  Pockets pockets = Pockets::none;
  bool belt = false;
  bool hem_band = false;
  bool top_stitching = false;

  Pattern pattern = Pattern::plain;
  double pattern_period = 0.2;  ///< of one repeat
  double pattern_duty = 0.5;    ///< how much of a repeat is inked
  double pattern_angle = 0;     ///< radians
  int pattern_variant = 0;      ///< 0..2
  Print print = Print::none;
  double print_size = 0.1;
  double print_y = -0.4;

  std::vector<Colourway> colourways;

  [[nodiscard]] bool is_upper() const { return kind <= GarmentKind::jacket; }
  /// Has two legs.
  [[nodiscard]] bool is_legged() const { return kind >= GarmentKind::trousers; }
  /// Highest and lowest point of the garment on the figure.
  [[nodiscard]] double top() const { return is_upper() ? -0.86 : waist_y; }
  [[nodiscard]] double bottom() const { return is_legged() ? 0.36 + 1.02 * leg_length : hem_y; }
};

/// Designs item `item` (counted from 0) in `colours` colourways. The same arguments give the same
/// design on every machine; more colourways do not change the first ones.
[[nodiscard]] GarmentDesign design_garment(std::uint64_t seed, int item, int colours);

}  // namespace seam::stages
