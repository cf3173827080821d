/// The data and counts that must be equal for two runs to be ranked together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// Returns the value of a parameter, or null if it is not set.
[[nodiscard]] const std::string* find(const Parameters& parameters, const std::string& key);

/// For grouping: runs on different folds belong together, but not with runs on all folds.
inline constexpr const char* one_fold = "one of the folds";

/// Omits the contents of files that one of the runs names, but has no hash for because of its
/// version. Trainings and evaluations are ranked separately: one kind does not omit those of the
/// other.
void omit_unknown_contents(std::vector<RunFolder>& runs);

/// Suffix of the key with the digest of a data set's list: "stage.items (listing)".
inline constexpr std::string_view listing_suffix = " (listing)";

/// Adds the digests of data sets' lists to the parameters if data sets with the same settings have
/// different lists, because a file or folder that no parameter names has changed. If one of the
/// runs did not record its list, those of the stage are not added. Trainings and evaluations are
/// ranked separately: one kind does not affect the other.
void add_listings(std::vector<RunFolder>& runs);

/// Adds to the run's data and counts those of the evaluation flow and of the flows that fill stages
/// to which it refers, such as a gallery. `measuring`: the stage that recorded the metric.
void note_data(const RunFolder& run, const std::string& flow, const std::string& measuring,
               ScoredRun& scored);

}  // namespace seam::host
