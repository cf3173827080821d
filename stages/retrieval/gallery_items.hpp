/// The items of a gallery, numbered from 0 in the order of its rows.
///
///     rows      shirt  skirt  shirt  dress
///     numbers     0      1      0      2
#pragma once

#include <cstdint>
#include <optional>
#include <seam/gallery.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace seam::stages {

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

}  // namespace seam::stages
