/// Tells whether a partition list in the In-Shop layout is the official one, as far as it was
/// described in print.
///
///     14,218 queries of 3,985 items: so many has a partition drawn at random as well
///      2,094 of 697 show WOMEN_Blouses_Shirts, 988 of 246 WOMEN_Shorts, ...: only the official one
#pragma once

#include <string>

#include "stages/dataset/inshop_list.hpp"

namespace seam::stages {

/// In which way the list differs from the official partition, as a clause; empty where nothing that
/// is known of it does: images and items of each split, 23 categories, and for six of these the
/// query images and items.
///
/// Source: Liu et al., "DeepFashion", CVPR 2016; O. F. Kınlı, "Clothing Image Retrieval with
/// Triplet Capsule Networks", 2019, table 9. Of its 1,091 query images of WOMEN_Dresses, which is
/// fewer than two for each of 624 items where other categories have three to five, no use is made:
/// it looks like a misprint.
[[nodiscard]] std::string difference_from_official(const InshopList& list);

}  // namespace seam::stages
