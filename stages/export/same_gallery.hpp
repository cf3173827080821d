/// Rankings name gallery images by row. Rows of another gallery would silently be other pictures.
#pragma once

#include <cstdint>
#include <seam/gallery.hpp>
#include <vector>

namespace seam::stages {

class SameGallery {
 public:
  /// Before the first rankings of a flow.
  void begin() { item_of_row_.clear(); }
  /// Throws seam::Error (configuration) where the rankings are those of another gallery, as far as
  /// sizes and items tell.
  void check(const retrieval::Gallery& gallery, const retrieval::Rankings& rankings);

 private:
  std::vector<std::int64_t> item_of_row_;  // as rankings number items; from the first batch on
};

}  // namespace seam::stages
