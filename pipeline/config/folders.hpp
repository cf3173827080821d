/// Checks for folders and files that stages declare as required before a run, such as a data set's,
/// because a run would notice only when it opens its stages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

enum class RunBegins : std::uint8_t {
  fresh,
  with_state,  ///< from a checkpoint: `initial` paths are not checked
};

/// Warns of missing files and of folders that are missing or incomplete, for all stages that the
/// schedule reaches: the pipeline may be meant for another machine. Returns one sentence for each
/// of them that a run on this machine needs, except for stages that run only after a `before` flow,
/// which may create their data.
std::vector<std::string> check_folders(const PipelineSpec& spec,
                                       const std::vector<StageDraft>& stages, RunBegins begins,
                                       Findings& findings);

}  // namespace seam::host
