/// Differences between groups of runs observation by observation, which says more than their means:
/// two models find and miss the same hard queries.
///
///     best:   q1 1  q2 0  q3 1 ─┐
///     group:  q1 1  q2 0  q3 0 ─┴─► 0 0 -1 ──► mean; interval by bootstrap over clusters
#pragma once

#include <string>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// Replaces each group's difference by that of its observations, of each the mean over the group's
/// runs, those of different folds side by side. `metric` is STAGE.METRIC. Throws seam::Error (data)
/// what read_outcomes() throws, and where two runs did not measure the same observations: one has
/// an observation that the other lacks or leaves out of its mean, or has in another cluster.
void pair_observations(Ranking& ranking, const std::string& metric);

}  // namespace seam::host
