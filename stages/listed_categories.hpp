/// Implemented by data sets that offer CategoryNames, for what the names do not tell.
#pragma once

#include <cstdint>
#include <set>

namespace seam::stages {

/// Available after open().
class ListedCategories {
 public:
  virtual ~ListedCategories() = default;

  /// Whether categories have numbers above 0 from the user's list, which name nothing. False if all
  /// are 0, as in a list without categories.
  [[nodiscard]] virtual bool has_own_numbers() const = 0;
  /// The categories of the images that are served: of a split, folds, or up to a limit.
  [[nodiscard]] virtual const std::set<std::int64_t>& served_categories() const = 0;
};

}  // namespace seam::stages
