/// The items and categories of a gallery's rows, and which row is the query itself.
#pragma once

#include <seam/gallery.hpp>
#include <seam/packet.hpp>
#include <unordered_map>

namespace seam::stages {

/// The items of a gallery, numbered from 0 in the order of its rows.
///
///     rows      shirt  skirt  shirt  dress
///     numbers     0      1      0      2
class GalleryItems {
 public:
  GalleryItems() = default;
  /// Throws seam::Error if ids are not in ascending order, which is a bug of the gallery.
  explicit GalleryItems(std::span<const retrieval::GalleryRow> rows);

  /// The number of items.
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(images_.size()); }
  /// The item number of each row.
  [[nodiscard]] std::span<const std::int64_t> of_rows() const { return of_row_; }
  /// The number of the item, or nullopt if it is not in the gallery.
  [[nodiscard]] std::optional<std::int64_t> number_of(const std::string& item) const;
  /// The number of rows that show the item.
  [[nodiscard]] std::int64_t images_of(std::int64_t number) const {
    return images_[static_cast<std::size_t>(number)];
  }
  /// The row with this id, or nullopt.
  [[nodiscard]] std::optional<std::int64_t> row_of_id(std::int64_t id) const;

 private:
  std::vector<std::int64_t> ids_;  // ascending
  std::vector<std::int64_t> of_row_;
  std::vector<std::int64_t> images_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

/// If queries and gallery are the same list: for each row of the batch, the gallery row with the
/// same index, or -1. `items`: the gallery's items. Throws seam::Error (configuration) naming both
/// images if that row shows a different image or item, i.e. the lists differ, and if the batch has
/// no indices.
[[nodiscard]] std::vector<std::int64_t> rows_of_themselves(const retrieval::Gallery& gallery,
                                                           const GalleryItems& items,
                                                           const Packet& batch);

/// The number of gallery images of each category: the competition for a query whose category is
/// known to the search.
///
///     rows       shirt/tops  skirt/bottoms  shirt/tops  vest/tops
///     of tops    3, of which 2 show the shirt
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
