// SPDX-License-Identifier: Apache-2.0
/// How far a mean over observations would move had other ones been drawn, where those of a cluster
/// belong together.
///
///     clusters A B C ──► drawn with replacement: B B A ──► the mean over the observations of these
///                        a thousand times; 95 % of the means lie in the interval
///
/// Pictures of one item succeed and fail together, so whole items are drawn: an interval over
/// single pictures would promise too much.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "seam/export.hpp"

namespace seam {

/// What the observations of one cluster amount to, such as the queries of one item.
struct ClusterSums {
  std::int64_t observations = 0;
  std::vector<double> sums;  ///< for each metric
};

/// The ends of a 95 % confidence interval.
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

/// Percentile intervals (Efron 1979) of `sum / observations`, one for each metric, from a thousand
/// samples: the same for the same clusters in the same order, since the seed is fixed. Clusters
/// without observations are left out; empty where fewer than two are left, which say nothing about
/// others.
[[nodiscard]] SEAM_EXPORT std::vector<ConfidenceInterval> bootstrap_intervals(
    std::span<const ClusterSums> clusters);

}  // namespace seam
