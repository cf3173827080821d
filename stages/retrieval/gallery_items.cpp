#include "stages/retrieval/gallery_items.hpp"

#include <algorithm>

namespace seam::stages {

GalleryItems::GalleryItems(std::span<const retrieval::GalleryRow> rows) {
  for (const retrieval::GalleryRow& row : rows) {
    if (!ids_.empty() && ids_.back() >= row.id) {
      throw Error("the gallery's rows are not in ascending order of id: " +
                      std::to_string(ids_.back()) + " comes before " + std::to_string(row.id),
                  Fault::internal);
    }
    ids_.push_back(row.id);
    const auto [entry, fresh] =
        numbers_.try_emplace(row.item, static_cast<std::int64_t>(images_.size()));
    if (fresh) images_.push_back(0);
    ++images_[static_cast<std::size_t>(entry->second)];
    of_row_.push_back(entry->second);
  }
}

std::optional<std::int64_t> GalleryItems::number_of(const std::string& item) const {
  const auto found = numbers_.find(item);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> GalleryItems::row_of_id(std::int64_t id) const {
  const auto found = std::ranges::lower_bound(ids_, id);
  if (found == ids_.end() || *found != id) return std::nullopt;
  return found - ids_.begin();
}

}  // namespace seam::stages
