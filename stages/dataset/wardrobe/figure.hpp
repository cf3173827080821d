/// The person, the garments, and the folds of all of them, painted onto the easel.
#pragma once

#include "stages/dataset/wardrobe/easel.hpp"

namespace seam::stages::wardrobe {

/// Base class of everything that paints a part. Refers to its arguments, which must outlive it.
class Fitting {
 public:
  Fitting(Easel& easel, const GarmentDesign& design, const Colourway& colours, const Pose& pose,
          const Fabric& plain, const Fabric& front);

 protected:
  [[nodiscard]] static Fabric solid(const Colour& colour, bool folds = true);
  [[nodiscard]] Point arm(int side, double t) const;
  [[nodiscard]] Point leg(int side, double y) const;
  void fringe();

  Easel& easel_;
  const GarmentDesign& design_;
  const Colourway& colours_;
  const Pose& pose_;
  Fabric cloth_;
  Fabric front_;
  Colour trim_;
  Colour seam_;
};

/// Hems, trims, buttons and pockets.
class Details : public Fitting {
 public:
  explicit Details(const Fitting& fitting) : Fitting(fitting) {}

 protected:
  [[nodiscard]] Points hem_line(double half_width, double y) const;
  void hem_trim();
  /// Pleats, seams across and a belt, for dresses and skirts.
  void skirt_details(double top, double top_width);
  void waistband();
  void button(Point at);
  void patch_pocket(Point at, double w, double h);
  void pockets();
};

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
