/// Dresses, shirts, jackets and whatever else has a torso.
#pragma once

#include <vector>

#include "stages/dataset/wardrobe/fitting.hpp"

namespace seam::stages::wardrobe {

class UpperGarment final : public Details {
 public:
  using Details::Details;
  /// From the back to the front.
  void paint();

 private:
  [[nodiscard]] Points neck_curve() const;
  [[nodiscard]] Point shoulder() const;
  /// Pulls the lower part of a side seam to where the hem, slanted or curved, really ends.
  void meet_hem(Point& p, const Point& end) const;
  [[nodiscard]] Points torso() const;
  void open_fronts();
  void sleeves();
  void cuff(int side, const Points& middle, const std::vector<double>& widths);
  void armhole_trim();
  void front_details();
  void hood_behind();
  void collar();
};

}  // namespace seam::stages::wardrobe
