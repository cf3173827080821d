/// Whether the parameters of a run may be changed where it goes on, and what the schedule makes of
/// them.
///
///     --set ──► changes ──► graph? ──► refused: start a new run with `weights`
///                  └──────► within an epoch? ──► only what leaves the epoch's numbers as they are
///                  └──────► schedule ──► SchedulePosition that goes on
///
/// All refusals are seam::Error (configuration) and name the key.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/run/recorded_change.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {

/// The parameters in which two resolved pipelines differ, in alphabetical order.
[[nodiscard]] std::vector<ParameterChange> changes_between(const std::string& before,
                                                           const std::string& now);

/// Refuses other stages, other `use`, other references, flows, paths and scheduled flows. `run`:
/// what a user would write as `weights`.
void refuse_other_graph(const PipelineSpec& before, const PipelineSpec& now,
                        const std::string& run);

/// Refuses changes of what acts only where a run begins: initial weights. `checkpoint`: the file
/// from which the run would go on.
void refuse_initial(const std::vector<ParameterChange>& changes, const std::string& checkpoint);

/// Refuses changes that could alter an epoch that is partly done. `place`: "in epoch 3 of 24",
/// `checkpoint`: the file from which the run would go on.
void refuse_within_epoch(const std::vector<ParameterChange>& changes, const ScheduleSpec& now,
                         const SchedulePosition& position, const std::string& place,
                         const std::string& checkpoint);

/// Where the changed schedule goes on. `changes`: all since the checkpoint was written.
[[nodiscard]] SchedulePosition continued(const std::vector<ParameterChange>& changes,
                                         const ScheduleSpec& now, SchedulePosition position);

/// Refuses changes with which nothing would be computed; `position` is that of continued().
void refuse_without_effect(const std::vector<ParameterChange>& changes, const ScheduleSpec& now,
                           const SchedulePosition& position);

}  // namespace seam::host
