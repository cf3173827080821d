/// Which row of a gallery a query is, where queries and gallery are one list.
#pragma once

#include <cstdint>
#include <seam/gallery.hpp>
#include <seam/packet.hpp>
#include <vector>

#include "stages/retrieval/gallery_items.hpp"

namespace seam::stages {

/// For each row of the batch, the gallery row of the same index; -1 where there is none. `items`:
/// those of the gallery's rows. Throws seam::Error (configuration) naming both pictures where that
/// row shows another picture or item, so that the two are not of one list, and where the batch has
/// no indices.
[[nodiscard]] std::vector<std::int64_t> rows_of_themselves(const retrieval::Gallery& gallery,
                                                           const GalleryItems& items,
                                                           const Packet& batch);

}  // namespace seam::stages
