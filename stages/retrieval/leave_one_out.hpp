/// Finds the gallery row of each query if queries and gallery are the same list.
#pragma once

#include <cstdint>
#include <seam/gallery.hpp>
#include <seam/packet.hpp>
#include <vector>

#include "stages/retrieval/gallery_items.hpp"

namespace seam::stages {

/// For each row of the batch, the gallery row with the same index, or -1. `items`: the gallery's
/// items. Throws seam::Error (configuration) naming both images if that row shows a different image
/// or item, i.e. the lists differ, and if the batch has no indices.
[[nodiscard]] std::vector<std::int64_t> rows_of_themselves(const retrieval::Gallery& gallery,
                                                           const GalleryItems& items,
                                                           const Packet& batch);

}  // namespace seam::stages
