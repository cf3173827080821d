/// Determines which state a checkpoint can omit.
///
///     checkpoint ──► train ──► gallery ──► evaluate     gallery is refilled before a search:
///                              makes it    reads it     its vectors need not be saved
///
/// Considers every possible continuation of the schedule: with `stop_early`, the flows after the
/// epochs may begin after any epoch.
#pragma once

#include <string>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {

/// For a stage whose state is rebuilt by each flow through it (Kept::until_next_flow): returns
/// whether a run that continues from `position` fills it before a flow reads it, or never uses it
/// again.
///
/// A flow reads a stage if one of its stages refers to it, directly or through others. A flow that
/// contains both the stage and one that refers to it counts as reading.
bool made_before_read(const PipelineSpec& spec, const SchedulePosition& position,
                      const std::string& stage);

/// Returns whether this is also true of a run that continues from `position` with other `epochs`,
/// or without having stopped early.
bool can_be_omitted(const PipelineSpec& spec, const SchedulePosition& position,
                    const std::string& stage);

}  // namespace seam::host
