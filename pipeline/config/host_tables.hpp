/// Which keys of a pipeline file are the host's own: for each table, its keys, their members,
/// limits and texts. What is done with them is in host_keys.hpp.
#pragma once

#include "pipeline/config/host_keys.hpp"
#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

HostTable pipeline_table(PipelineSpec& spec);
HostTable limits_table(LimitSpec& limits);
HostTable schedule_table(ScheduleSpec& schedule);
HostTable chosen_table(ChosenSpec& chosen);
/// What every stage's table takes besides the stage's own parameters.
HostTable stage_table(StageSpec& stage);
/// The tables inside: { flow, every }, { metric, patience, goal }, { retry }, { epochs, steps,
/// minutes }, { best, last }, { histograms }.
HostTable turn_table(ScheduledFlow& turn);
HostTable stop_early_table(StopEarly& rule);
HostTable retry_table(int& retries);
HostTable checkpoint_table(CheckpointEvery& rule);
HostTable tensorboard_table(TensorBoardSpec& rule);
HostTable keep_table(KeepRule& rule);

}  // namespace seam::host
