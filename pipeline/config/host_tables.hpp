/// Declares the host's own keys of a pipeline file: for each table its keys with members, limits
/// and descriptions. host_keys.hpp uses them.
#pragma once

#include "pipeline/config/host_keys.hpp"
#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

HostTable pipeline_table(PipelineSpec& spec);
HostTable limits_table(LimitSpec& limits);
HostTable schedule_table(ScheduleSpec& schedule);
HostTable chosen_table(ChosenSpec& chosen);
/// Keys of every stage's table in addition to the stage's parameters.
HostTable stage_table(StageSpec& stage);
/// The inner tables: { flow, every }, { metric, patience, goal }, { retry }, { epochs, steps,
/// minutes }, { best, last }, { histograms }.
HostTable turn_table(ScheduledFlow& turn);
HostTable stop_early_table(StopEarly& rule);
HostTable retry_table(int& retries);
HostTable checkpoint_table(CheckpointEvery& rule);
HostTable tensorboard_table(TensorBoardSpec& rule);
HostTable keep_table(KeepRule& rule);

}  // namespace seam::host
