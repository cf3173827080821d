/// The metrics by which a schedule ranks epochs: to stop early, and to keep the best checkpoint.
///
///     keep = { best = "recall.none.r@1" } ──► stage recall declares "*.r@1", higher is better
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// A recorded run may have been started by a version without some of the checks below, and keeps
/// its rules. It begins with the state of a checkpoint.
enum class PipelineOf : std::uint8_t { user, recorded_run };

/// Sets whether higher or lower is better: `schedule.keep.better` and, unless the file sets it, the
/// goal of `schedule.stop_early`. Reports a stage that is not in exactly one flow of 'each_epoch',
/// a goal that contradicts the stage's declaration and, for 'keep', a metric that its stage does
/// not declare as a headline, so that the better direction is unknown.
void settle_kept_metric(const Table& tree, const std::vector<StageDraft>& stages,
                        const std::vector<FlowSpec>& flows, PipelineOf of, ScheduleSpec& schedule,
                        Findings& findings);

}  // namespace seam::host
