/// Painting a garment onto the easel: the tools shared by all its parts, and details that several
/// kinds of garments have.
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

}  // namespace seam::stages::wardrobe
