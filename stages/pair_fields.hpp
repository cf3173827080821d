/// Fields of the two images of a pair, which are two successive packets that share a `group`:
///
///     picture 2k      same_item 1, pair_fold 3      `batch`, carry = ["same_item as same",
///     picture 2k + 1  same_item 1, pair_fold 3      "pair_fold"]: rows of `same`, `pair_folds`
#pragma once

#include <seam/field.hpp>

namespace seam::field {

/// Whether the images of a pair show one item: 1 or 0, the same for both.
inline constexpr Field<std::int64_t> same_item{"same_item"};
/// The fold of its list that a pair is in, from 0.
inline constexpr Field<std::int64_t> pair_fold{"pair_fold"};

}  // namespace seam::field
