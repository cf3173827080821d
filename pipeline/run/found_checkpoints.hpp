/// The checkpoints that a resumed run finds in its folder: damaged, removed or intact.
#pragma once

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/services.hpp"

namespace seam::host {

/// None if the run has no checkpoint yet. Renames damaged files. Throws seam::Error (configuration)
/// if the run's results show that it had a checkpoint. `recorded`: how the run began.
[[nodiscard]] CheckpointFolder::Newest newest_checkpoint(const RunDirectory& directory,
                                                         const Launch& recorded,
                                                         const PipelineSpec& spec,
                                                         const RunOptions& options,
                                                         RunServices& services);

/// Warns if the file of the best checkpoint so far is missing.
void warn_of_missing_best(const KeepRule& rule, const SchedulePosition& position,
                          const RunDirectory& directory, RunServices& services);

}  // namespace seam::host
