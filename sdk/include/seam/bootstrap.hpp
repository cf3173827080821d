// SPDX-License-Identifier: Apache-2.0
/// Bootstrap confidence intervals for means over clustered observations.
///
///     clusters A B C ──► drawn with replacement: B B A ──► the mean over the observations of these
///                        a thousand times; 95 % of the means lie in the interval
///
/// Images of the same item succeed and fail together, so whole items are resampled: an interval
/// over single images would be too narrow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "seam/export.hpp"

namespace seam {

/// Sums over the observations of one cluster, such as the queries of one item.
struct ClusterSums {
  std::int64_t observations = 0;
  std::vector<double> sums;  ///< for each metric
};

/// The ends of a 95 % confidence interval.
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

/// Percentile intervals (Efron 1979) of `sum / observations`, one per metric, from a thousand
/// samples. The seed is fixed: equal clusters in the same order give equal intervals. Ignores
/// clusters without observations. Returns an empty vector if fewer than two clusters remain, which
/// allow no estimate.
[[nodiscard]] SEAM_EXPORT std::vector<ConfidenceInterval> bootstrap_intervals(
    std::span<const ClusterSums> clusters);

}  // namespace seam
