/// Checks whether a partition list in the In-Shop layout is the official one, as far as
/// publications describe it.
///
///     14,218 queries of 3,985 items: a random partition can have these counts too
///      2,094 of 697 show WOMEN_Blouses_Shirts, 988 of 246 WOMEN_Shorts, ...: only the official one
#pragma once

#include <string>

#include "stages/dataset/inshop_list.hpp"

namespace seam::stages {

/// Describes as a clause how the list differs from the official partition; empty if all known
/// numbers agree: images and items of each split, 23 categories, and for six of these the query
/// images and items.
///
/// Source: Liu et al., "DeepFashion", CVPR 2016; O. F. Kınlı, "Clothing Image Retrieval with
/// Triplet Capsule Networks", 2019, table 9. Its 1,091 query images of WOMEN_Dresses are not used:
/// fewer than two for each of 624 items, compared with three to five in other categories, look like
/// a misprint.
[[nodiscard]] std::string difference_from_official(const InshopList& list);

}  // namespace seam::stages
