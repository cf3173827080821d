/// A run by several processes: what is different about one of them.
#pragma once

#include <functional>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/load.hpp"
#include "seam/ranks.hpp"

namespace seam::host {

/// Calls `run` once all ranks start the same run. The first rank prints and owns the run folder;
/// the others have a private one, and print nothing unless they fail alone. Ends the processes of
/// all ranks if this one fails and the others do not learn of it.
ExitCode run_as_rank(RunArguments arguments, Ranks& ranks,
                     const std::function<ExitCode(RunArguments)>& run);

/// Throws seam::Error (configuration) if there are fewer lanes than ranks, if the order of a
/// training flow's steps depends on timing, or if all ranks would write to the same path.
void refuse_unless_shareable(const CheckedPipeline& pipeline, const Ranks& ranks);

}  // namespace seam::host
