/// Which state a checkpoint can do without.
///
///     checkpoint ──► train ──► gallery ──► evaluate     gallery is refilled before a search:
///                              makes it    reads it     its vectors need not be saved
///
/// Asks the schedule what comes next, in every way that it may come: with `stop_early`, the flows
/// after the epochs may begin after any of them.
#pragma once

#include <string>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {

/// For a stage whose state each flow through it makes anew (Kept::until_next_flow): whether a run
/// that goes on from `position` fills it before any flow reads it, or never touches it again.
///
/// A flow reads a stage where one of its stages refers to it, directly or by way of others. A flow
/// that has both the stage and one that refers to it counts as one that reads.
bool made_before_read(const PipelineSpec& spec, const SchedulePosition& position,
                      const std::string& stage);

}  // namespace seam::host
