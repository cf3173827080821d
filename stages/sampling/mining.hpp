/// Finds hard negatives among embeddings of all training images, by the exact search of
/// stages/retrieval, with the same result for any number of threads.
///
///     embeddings [N,E]        for each image:  the closest image of another item
///     items, categories  ──►    · of another category, or of the same (hardest)
///                               · farther than the positive (semi-hard)
///
/// An image must not find those of its own item (or category). If there are few of them, they are
/// searched too and skipped; if there are many, the gallery is searched without them.
#pragma once

#include <torch/types.h>

#include <seam/retrieval.hpp>

#include "stages/sampling/mined_negatives.hpp"

namespace seam::stages {

/// N images. Spans have N elements and must outlive the call.
struct MiningSet {
  /// f32[N,E]: embeddings; or f32[N,K,D]: class capsules. An image is then compared with others by
  /// the capsule of its own category, like an anchor in training.
  torch::Tensor vectors;
  std::span<const std::int64_t> items;       ///< arbitrary numbers
  std::span<const std::int64_t> categories;  ///< negative: unknown; empty: all unknown
  retrieval::NameOfRow name_of_row;
  /// Up to this many images of an item or category are searched too and skipped.
  std::int64_t most_passed_over = 256;
};

/// Distances are squared Euclidean; the first of equally near rows is used.
struct MiningResult {
  MinedLists lists;
  std::int64_t fallbacks = 0;  ///< rows for which the rule itself found nothing
  double mean_distance = 0;    ///< of all rows to their negatives
};

/// By rule, for each row:
/// - hardest_other_category: the closest row of another category and another item.
/// - hardest_same_category: the closest row of the same category and another item; in a category
///   without one, as hardest_other_category.
/// - semi_hard: the closest row of another item that is farther than the row's positive, by at most
///   the margin; if there is none, the closest row of another item.
/// `positives`: semi_hard's positive of each row, or itself; not read otherwise.
///
/// The work is close to one search of N rows in N, at most twice that for semi_hard. Needs memory
/// for a second copy of the vectors and for a search of 4096 queries. Throws seam::Error, naming
/// the image, if an image has no negative or lacks its category, and for vectors that are not
/// finite.
[[nodiscard]] MiningResult mine(const MiningSet& set, const MiningRule& rule,
                                std::span<const std::int64_t> positives);

}  // namespace seam::stages
