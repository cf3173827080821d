/// The person, the garments, and the folds of all of them.
#pragma once

#include "stages/dataset/wardrobe/fitting.hpp"

namespace seam::stages::wardrobe {

/// The parts of the person, in other clothes, that the garment does not cover.
class Body final : public Fitting {
 public:
  explicit Body(const Fitting& fitting) : Fitting(fitting) {}
  void paint();
};

class Skirt final : public Details {
 public:
  using Details::Details;
  void paint();
};

class Trousers final : public Details {
 public:
  using Details::Details;
  void paint();
};

/// Dresses, shirts, jackets and whatever else has a torso.
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

/// Where the cloth of a garment is pulled or falls.
class Folds final : public Fitting {
 public:
  explicit Folds(const Fitting& fitting) : Fitting(fitting) {}
  [[nodiscard]] std::vector<Easel::Fold> lie(Random& random) const;
};

}  // namespace seam::stages::wardrobe
