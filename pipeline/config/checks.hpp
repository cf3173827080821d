/// Settings and checks that need the whole pipeline, with its stages and flows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// A recorded run may have been started by a version without some of the checks below, and keeps
/// its rules. It begins with the state of a checkpoint.
enum class PipelineOf : std::uint8_t { user, recorded_run };

/// Sets whether higher or lower is better for the metrics by which a schedule ranks epochs:
/// `schedule.keep.better` and, unless the file sets it, the goal of `schedule.stop_early`.
///
///     keep = { best = "recall.none.r@1" } ──► stage recall declares "*.r@1", higher is better
///
/// Reports a stage that is not in exactly one flow of 'each_epoch', a goal that contradicts the
/// stage's declaration and, for 'keep', a metric that its stage does not declare as a headline, so
/// that the better direction is unknown.
void settle_kept_metric(const Table& tree, const std::vector<StageDraft>& stages,
                        const std::vector<FlowSpec>& flows, PipelineOf of, ScheduleSpec& schedule,
                        Findings& findings);

/// Finds data sets of one run that take part in different replicates, such as folds: what one
/// holds out, the other serves to training.
///
///     train     train_items { fold = 1, part = "train" }    ──► model ──► loss ──► adam
///     evaluate  test_items  { fold = 0, part = "held_out" } ──► model ──► ...    trained items
///
/// Reports an evaluated data set that differs from a training one in a replicate (`fold`) or in how
/// many there are (`folds`), if they otherwise differ only in choices, such as the part to serve.
void check_replicates(const PipelineSpec& spec, const std::vector<StageDraft>& stages,
                      Findings& findings);

/// Checks for folders and files that stages declare as required before a run, such as a data set's,
/// because a run would notice only when it opens its stages.
///
/// Warns of missing files and of folders that are missing or incomplete, for all stages that the
/// schedule reaches: the pipeline may be meant for another machine. Returns one sentence for each
/// of them that a run on this machine needs, except for stages that run only after a `before` flow,
/// which may create their data. `initial` paths of a recorded run are not checked.
std::vector<std::string> check_folders(const PipelineSpec& spec,
                                       const std::vector<StageDraft>& stages, PipelineOf of,
                                       Findings& findings);

}  // namespace seam::host
