/// Folders and files that stages say must be there before a run, such as a data set's: looked for
/// while a file is checked, since a run would find out only when it opens its stages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

enum class RunBegins : std::uint8_t {
  anew,
  with_state,  ///< of a checkpoint: what is `initial` is not looked for
};

/// Warns of files that are missing, and of folders that are or lack what the stage reads, of all
/// stages that the schedule reaches: the file may be meant for another machine. Gives a sentence
/// for each that a run on this machine cannot do without. Not among these are stages that run only
/// after a `before` flow, which may make their data.
std::vector<std::string> check_folders(const PipelineSpec& spec,
                                       const std::vector<StageDraft>& stages, RunBegins begins,
                                       Findings& findings);

}  // namespace seam::host
