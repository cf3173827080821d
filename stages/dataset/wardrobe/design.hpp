/// The look of the items of the built-in data set: a tailor's sheet for each, drawn at random from
/// the seed. Cut, pattern, print and details make an item; its colourways change none of them, so
/// that items must be distinguished by more than their colour.
///
///     (seed, item) ──► GarmentDesign ──┬── colourway 1 ──► views (drawing.hpp)
///                                      └── colourway 2 ──► views
///
/// Lengths are in figure units: a standing person's shoulders are at y = -0.72, the waist at -0.1,
/// the crotch at 0.37 and the ankles at 1.4; x = 0 is the middle of the body.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stages/dataset/wardrobe/shapes.hpp"

namespace seam::stages::wardrobe {

enum class Kind : std::uint8_t {
  dress,
  tee,
  sweater,
  shirt,
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
  Kind kind;
};

/// The categories take turns.
[[nodiscard]] const GarmentCategory& category_of(int item);

struct Colourway {
  Colour base;
  Colour second;  ///< pattern, trim
  Colour accent;  ///< print, belt, third colour of a pattern
};

enum class Pattern : std::uint8_t {
  plain,
  fade,
  stripes,
  checks,
  dots,
  diamonds,
  blocks,
  camouflage,
  scattered,  ///< motifs
};
enum class Motif : std::uint8_t { star, heart, flower };

/// All properties of an item that do not depend on colour, pose or light. Widths are half widths.
struct GarmentDesign {
  Kind kind = Kind::tee;

  // Upper body.
  bool v_neck = false;
  double neck_width = 0.12;
  double neck_depth = 0.08;
  double chest = 0.28;
  double sleeve_length = 0.3;  ///< 0 sleeveless, 1 to the wrist
  double sleeve_width = 0.1;
  double cuff_width = 0.08;
  bool contrast_sleeves = false;

  double waist = 0.26;
  double waist_y = -0.1;
  double hem_width = 0.28;
  double hem_y = 0.25;
  double hem_drop = 0;  ///< how much lower the hem is in the middle

  // Legs.
  double leg_length = 1;  ///< 0 crotch, 1 ankle
  double knee_width = 0.1;
  double ankle_width = 0.08;

  // Details.
  int buttons = 0;
  bool pockets = false;
  bool belt = false;
  bool bands = false;  ///< at the ends of sleeves and legs and at the hem

  Pattern pattern = Pattern::plain;
  double period = 0.2;  ///< of one repeat
  double duty = 0.5;    ///< how much of a repeat has the second colour
  double angle = 0;     ///< of stripes, radians
  int variant = 0;      ///< 0..2
  Motif motif = Motif::star;
  double print_size = 0;  ///< of one large motif on the front; 0: none

  std::vector<Colourway> colourways;

  [[nodiscard]] bool is_upper() const { return kind <= Kind::jacket; }
  [[nodiscard]] bool is_collared() const { return is_upper() && kind >= Kind::shirt; }
  [[nodiscard]] bool is_legged() const { return kind >= Kind::trousers; }
  /// Highest and lowest point of the garment on the figure.
  [[nodiscard]] double top() const { return is_upper() ? -0.86 : waist_y; }
  [[nodiscard]] double bottom() const { return is_legged() ? 0.36 + 1.02 * leg_length : hem_y; }
};

/// Designs item `item` (counted from 0) in `colours` colourways, at most twelve. The same arguments
/// give the same design on every machine; more colourways do not change the first ones.
[[nodiscard]] GarmentDesign design_garment(std::uint64_t seed, int item, int colours);

}  // namespace seam::stages::wardrobe
