/// What must be equal for two runs to be ranked together: the data and protocol of what they
/// measure.
#pragma once

#include <string>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// The value of a parameter; null: it has none.
[[nodiscard]] const std::string* find(const Parameters& parameters, const std::string& key);

/// Whether a run has a value for a seed or a fold; a data set that is not cut has no fold.
[[nodiscard]] bool is_set(const Parameters& parameters, const std::string& replicate_key);

/// For a group: one fold repeats another, but not all folds together.
inline constexpr const char* one_fold = "one of the folds";

/// Adds to the run's data and counts those of the flow that measures, and of the flows that fill
/// stages to which it refers, such as a gallery.
void note_data(const RunFolder& run, const std::string& flow, ScoredRun& scored);

}  // namespace seam::host
