/// The person, the garments without a torso, and the folds of all of them.
#pragma once

#include <seam/random.hpp>
#include <vector>

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

/// Where the cloth of a garment is pulled or falls.
class Folds final : public Fitting {
 public:
  explicit Folds(const Fitting& fitting) : Fitting(fitting) {}
  [[nodiscard]] std::vector<Easel::Fold> lie(Random& random) const;
};

}  // namespace seam::stages::wardrobe
