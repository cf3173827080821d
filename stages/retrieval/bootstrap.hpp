/// How far a mean over queries would move had other items been photographed.
///
///     items A B C ──► drawn with replacement: B B A ──► the mean over the queries of these
///                     a thousand times; 95 % of the means lie in the interval
///
/// Images of one item succeed and fail together, so whole items are drawn: an interval over single
/// queries would promise too much.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace seam::stages {

/// What the queries of one item amount to.
struct ItemSums {
  std::int64_t queries = 0;
  std::vector<double> sums;  ///< for each metric
};

/// The ends of a 95 % confidence interval.
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

/// Percentile intervals (Efron 1979) of `sum / queries`, one for each metric, from a thousand
/// samples: the same for the same items in the same order, since the seed is fixed. Items without
/// queries are left out; empty where fewer than two are left, which say nothing about others.
[[nodiscard]] std::vector<ConfidenceInterval> bootstrap_intervals(std::span<const ItemSums> items);

/// How likely a random order of a gallery of `gallery` images, `relevant` of which are right, shows
/// one of them among the first k. 1 where there are no more than k others.
[[nodiscard]] double chance_of_hit(std::int64_t gallery, std::int64_t relevant, std::int64_t k);

}  // namespace seam::stages
