/// Differences between groups of runs observation by observation. This is more precise than
/// comparing means, because models tend to find and miss the same hard queries.
///
///     best:   q1 1  q2 0  q3 1 ─┐
///     group:  q1 1  q2 0  q3 0 ─┴─► 0 0 -1 ──► mean; interval by bootstrap over clusters
#pragma once

#include <string>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// Replaces each group's difference by that of its observations, each averaged over the group's
/// runs; observations of different folds are combined. `metric` is STAGE.METRIC. Throws the
/// exceptions of read_outcomes(), and seam::Error (data) if two runs did not measure the same
/// observations: one has an observation that the other lacks, leaves out of its mean or has in a
/// different cluster.
void pair_observations(Ranking& ranking, const std::string& metric);

}  // namespace seam::host
