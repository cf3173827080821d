/// Rankings identify gallery images by row. Rows of a different gallery would silently be different
/// images.
#pragma once

#include <seam/gallery.hpp>
#include <unordered_map>

namespace seam::stages {

class SameGallery {
 public:
  /// To be called before the first rankings of a flow.
  void begin() { item_of_row_.clear(); }
  /// Throws seam::Error (configuration) if the rankings are for a different gallery, judging by
  /// sizes and items.
  void check(const retrieval::Gallery& gallery, const retrieval::Rankings& rankings) {
    const auto refuse = [](const std::string& how) {
      throw Error("the search used a different gallery from the one in 'index': " + how +
                      "; use the same 'index' as the search",
                  Fault::configuration);
    };
    if (!gallery.ready()) refuse("the one in 'index' has no images yet");
    const auto rows = gallery.rows();
    if (rankings.gallery_images != static_cast<std::int64_t>(rows.size())) {
      refuse("the search's has " + std::to_string(rankings.gallery_images) +
             " images, the one in 'index' has " + std::to_string(rows.size()));
    }
    if (item_of_row_.empty()) {
      std::unordered_map<std::string_view, std::int64_t> numbers;
      for (const retrieval::GalleryRow& row : rows) {
        item_of_row_.push_back(
            numbers.try_emplace(row.item, static_cast<std::int64_t>(numbers.size())).first->second);
      }
    }
    for (const retrieval::Ranking& ranking : rankings.by_mask) {
      for (std::size_t i = 0; i < ranking.items.size(); ++i) {
        const std::int64_t row = ranking.neighbours.rows[i];
        if (row >= 0 && item_of_row_.at(static_cast<std::size_t>(row)) != ranking.items[i]) {
          refuse("their items differ");
        }
      }
    }
  }

 private:
  std::vector<std::int64_t> item_of_row_;  // as rankings number items; from the first batch on
};

}  // namespace seam::stages
