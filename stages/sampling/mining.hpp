/// Finds hard negatives among embeddings of all training images, by the exact search of
/// stages/retrieval: the same for any number of threads.
///
///     embeddings [N,E]        for each image:  the closest image of another item
///     items, categories  ──►    · of another category, or of the same (hardest)
///                               · farther than the positive (semi-hard)
///
/// An image must not find those of its own item (or category). Few of them are searched along and
/// passed over; where there are many, the gallery is searched without them.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <seam/retrieval.hpp>
#include <span>
#include <vector>

#include "stages/sampling/mined_negatives.hpp"

namespace seam::stages {

/// N images. Spans have N numbers and outlive the call.
struct MiningSet {
  /// f32[N,E]: embeddings; or f32[N,K,D]: class capsules, of which each image and those it is
  /// compared with keep the one of its category, as an anchor in training does.
  torch::Tensor vectors;
  std::span<const std::int64_t> items;       ///< any numbers
  std::span<const std::int64_t> categories;  ///< negative: not known; empty: none is known
  retrieval::NameOfRow name_of_row;
  /// Images of an item or category: up to so many are searched along and passed over.
  std::int64_t most_passed_over = 256;
};

/// Distances are squared Euclidean; of equal ones the first row counts.
struct MiningResult {
  MinedLists lists;
  std::int64_t fallbacks = 0;  ///< rows for which the rule found nothing itself
  double mean_distance = 0;    ///< of all rows to their negatives
};

/// By rule, for each row:
/// - hardest_other_category: the closest row of another category and another item.
/// - hardest_same_category: the closest row of the same category and another item; in a category
///   without one, as hardest_other_category.
/// - semi_hard: the closest row of another item that is farther than the row's positive, by the
///   margin at most; where there is none, the closest row of another item.
/// `positives`: semi_hard's positive of each row, or itself; not read otherwise.
///
/// Work is close to one search of N rows in N, twice that at most for semi_hard; memory beside the
/// vectors that of another copy of them, and of a search of 4096 queries. Throws seam::Error where
/// fewer than two items are there, where hardest_other_category finds one category only, where a
/// category is needed and not known, naming the image, and for vectors that cannot be compared.
[[nodiscard]] MiningResult mine(const MiningSet& set, const MiningRule& rule,
                                std::span<const std::int64_t> positives);

}  // namespace seam::stages
