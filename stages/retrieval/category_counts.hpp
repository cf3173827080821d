/// The number of gallery images of each category: the competition for a query whose category is
/// known to the search.
///
///     rows       shirt/tops  skirt/bottoms  shirt/tops  vest/tops
///     of tops    3, of which 2 show the shirt
#pragma once

#include <cstdint>
#include <map>
#include <seam/gallery.hpp>
#include <span>
#include <utility>

namespace seam::stages {

class CategoryCounts {
 public:
  /// `item_of_row`: one number per row.
  CategoryCounts(std::span<const retrieval::GalleryRow> rows,
                 std::span<const std::int64_t> item_of_row) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].category < 0) known_ = false;
      ++images_[rows[row].category];
      ++of_item_[{rows[row].category, item_of_row[row]}];
    }
  }

  /// Whether each row has a category.
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] std::int64_t images(std::int64_t category) const {
    const auto found = images_.find(category);
    return found == images_.end() ? 0 : found->second;
  }
  /// The number of images of the category that show the item.
  [[nodiscard]] std::int64_t images(std::int64_t category, std::int64_t item) const {
    const auto found = of_item_.find({category, item});
    return found == of_item_.end() ? 0 : found->second;
  }

 private:
  bool known_ = true;
  std::map<std::int64_t, std::int64_t> images_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> of_item_;  // (category, item)
};

}  // namespace seam::stages
