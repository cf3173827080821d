/// Implemented by data sets that offer CategoryNames and may take the numbers of categories from
/// the user's list, which name nothing.
#pragma once

namespace seam::stages {

class OwnNumbers {
 public:
  virtual ~OwnNumbers() = default;

  /// Whether categories have numbers above 0 but no names; available after open(). False if all
  /// are 0, as in a list without categories.
  [[nodiscard]] virtual bool has_own_numbers() const = 0;
};

}  // namespace seam::stages
