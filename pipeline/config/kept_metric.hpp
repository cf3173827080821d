/// The metric by which a schedule keeps the best checkpoint.
///
///     keep = { best = "recall.none.r@1" } ──► stage recall declares "*.r@1", higher is better
#pragma once

#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// Sets `schedule.keep.better`. Reports a metric that its stage does not declare as a headline, so
/// that the better direction is unknown, and a stage that no flow in 'each_epoch' contains.
void settle_kept_metric(const Table& tree, const std::vector<StageDraft>& stages,
                        const std::vector<FlowSpec>& flows, ScheduleSpec& schedule,
                        Findings& findings);

}  // namespace seam::host
