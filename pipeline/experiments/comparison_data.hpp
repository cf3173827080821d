/// The data and counts that must be equal for two runs to be ranked together.
#pragma once

#include <string>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// Returns the value of a parameter, or null if it is not set.
[[nodiscard]] const std::string* find(const Parameters& parameters, const std::string& key);

/// For grouping: runs on different folds belong together, but not with runs on all folds.
inline constexpr const char* one_fold = "one of the folds";

/// Adds to the run's data and counts those of the evaluation flow and of the flows that fill stages
/// to which it refers, such as a gallery.
void note_data(const RunFolder& run, const std::string& flow, ScoredRun& scored);

}  // namespace seam::host
