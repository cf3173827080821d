/// What a page shows, as JSON: everything is chosen and computed here, and the page only draws.
///
///     RunRecord, RunRecord, ... ──► report_data ──► {"runs": [...], "differences": [...]} ──► page
#pragma once

#include <string>
#include <vector>

#include "pipeline/report/run_record.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

/// Points of a curve at most. Longer ones are averaged over equally long stretches of steps.
inline constexpr std::size_t most_points = 400;

/// One curve: {"flow", "stage", "name", "kind": "steps" or "epochs", "x", "y", "steps_per_point",
/// "not_finite"}. x counts epochs: a step lies within its epoch, a number that is recorded once an
/// epoch at the epoch's end. y is null where no step of the stretch is finite.
Json curve_of(const MetricSeries& series);

/// Recall at the end of the run: {"stage", "mask", "flow", "epoch", "k", "value"} for each mask
/// that a stage recorded `MASK.r@K` or `r@K` of.
Json recall_of(const std::vector<MetricSeries>& metrics);

/// The scores of a run without score.json: recall at the smallest K of each mask, else the mean
/// loss of the last epoch; in the same form.
Json scores_of(const RunRecord& record);

/// Labels name the runs, one each.
Json report_data(const std::vector<RunRecord>& records, const std::vector<std::string>& labels);

/// Names for runs: the folders' own, or their paths where two have the same.
std::vector<std::string> labels_of(const std::vector<std::filesystem::path>& folders);

}  // namespace seam::host
