/// The content of a page as JSON: everything is selected and computed here, and the page only
/// draws.
///
///     RunRecord, RunRecord, ... ──► report_data ──► {"runs": [...], "differences": [...]} ──► page
#pragma once

#include <string>
#include <vector>

#include "pipeline/report/run_record.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

/// Maximum number of points of a curve. Longer curves are averaged over intervals of equal length.
inline constexpr std::size_t most_points = 400;

/// One curve: {"flow", "stage", "name", "kind": "steps" or "epochs", "x", "y", "steps_per_point",
/// "not_finite"}. x counts epochs: a step lies within its epoch, and a number that is recorded once
/// per epoch lies at the epoch's end. y is null if no step of the interval is finite.
Json curve_of(const MetricSeries& series);

/// The last recall before, in and after the epochs: {"stage", "mask", "when", "flow", "epoch", "k",
/// "value"} for each mask with a recorded `MASK.r@K` or `r@K`.
Json recall_of(const std::vector<MetricSeries>& metrics);

/// The scores of a run without score.json: recall at the smallest K of each mask, else the mean
/// loss of the last epoch; in the same form.
Json scores_of(const RunRecord& record);

/// One label per run.
Json report_data(const std::vector<RunRecord>& records, const std::vector<std::string>& labels);

/// Names for runs: those of the folders, or their paths if two are equal.
std::vector<std::string> labels_of(const std::vector<std::filesystem::path>& folders);

}  // namespace seam::host
