#include "stages/retrieval/gallery_items.hpp"

#include <algorithm>

#include "stages/picture_paths.hpp"

namespace seam::stages {
namespace {

/// Whether the images are of different lists, and so are their files. One list may name the images
/// of two folders, such as those of two resolutions.
bool is_of_another_list(const Origin& origin, const std::string& file, const Origin& other,
                        const std::string& other_file) {
  return !file.empty() && !other_file.empty() && file != other_file && origin.file && other.file &&
         *origin.file != *other.file;
}

std::int64_t row_of_itself(const retrieval::Gallery& gallery, const GalleryItems& items,
                           std::int64_t id, const std::string& item, const Origin& origin,
                           const std::string& file) {
  if (id < 0) {
    throw Error("exclude_self identifies images by their 'index', which the data set of " +
                    origin.text() + " does not provide",
                Fault::configuration);
  }
  const auto row = items.row_of_id(id);
  if (!row) return -1;
  const retrieval::GalleryRow& found = gallery.rows()[static_cast<std::size_t>(*row)];
  const auto* const images = dynamic_cast<const retrieval::GalleryImages*>(&gallery);
  const auto at = static_cast<std::size_t>(*row);
  // An index is only unique within a split: row 3 of a different split may show the same item.
  if (found.item != item || found.origin.item != origin.item ||
      (images != nullptr && at < images->files().size() &&
       is_of_another_list(origin, file, found.origin, images->files()[at]))) {
    throw Error("with exclude_self, queries and gallery must be the same list, but index " +
                    std::to_string(id) + " is item '" + item + "' of " + origin.text() +
                    " among the queries and item '" + found.item + "' of " + found.origin.text() +
                    " in the gallery",
                Fault::configuration);
  }
  return *row;
}

}  // namespace

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

std::vector<std::int64_t> rows_of_themselves(const retrieval::Gallery& gallery,
                                             const GalleryItems& items, const Packet& batch) {
  const auto& item = batch[field::items];
  const std::vector<std::string> files = picture_files(batch, item.size());
  std::vector<std::int64_t> rows;
  rows.reserve(item.size());
  for (std::size_t i = 0; i < item.size(); ++i) {
    rows.push_back(row_of_itself(gallery, items, batch[field::indices][i], item[i],
                                 batch[field::origins][i], files[i]));
  }
  return rows;
}

}  // namespace seam::stages
