/// Rankings identify gallery images by row. Rows of a different gallery would silently be different
/// images.
#pragma once

#include <cstdint>
#include <seam/gallery.hpp>
#include <vector>

namespace seam::stages {

class SameGallery {
 public:
  /// To be called before the first rankings of a flow.
  void begin() { item_of_row_.clear(); }
  /// Throws seam::Error (configuration) if the rankings are for a different gallery, judging by
  /// sizes and items.
  void check(const retrieval::Gallery& gallery, const retrieval::Rankings& rankings);

 private:
  std::vector<std::int64_t> item_of_row_;  // as rankings number items; from the first batch on
};

}  // namespace seam::stages
