/// Checks for folders and files that stages declare as required before a run, such as a data set's,
/// because a run would notice only when it opens its stages.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/kept_metric.hpp"
#include "pipeline/config/settings.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// Warns of missing files and of folders that are missing or incomplete, for all stages that the
/// schedule reaches: the pipeline may be meant for another machine. Returns one sentence for each
/// of them that a run on this machine needs, except for stages that run only after a `before` flow,
/// which may create their data. `initial` paths of a recorded run are not checked.
std::vector<std::string> check_folders(const PipelineSpec& spec,
                                       const std::vector<StageDraft>& stages, PipelineOf of,
                                       Findings& findings);

}  // namespace seam::host
