/// The agreements of ranks (seam::Ranks): to compute the same, and when to stop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/run/run_directory.hpp"
#include "seam/ranks.hpp"

namespace seam::host {

/// Names and values that must be the same on all ranks.
using Terms = std::vector<std::pair<std::string, std::string>>;

/// Results depend on these before stages are opened: the program and its libraries, the processor,
/// the pipeline and the data.
[[nodiscard]] Terms terms_of(const Launch& launch, const PipelineSpec& spec,
                             const RunOptions& options);
/// The states of stages, such as weights, trained or not.
[[nodiscard]] Terms terms_of(const std::vector<StageState>& states);

/// Throws seam::Error (configuration), on all ranks, that names the first rank with other values
/// than rank 0 and lists them.
void agree_on(const Terms& terms, Ranks& ranks);

/// Whether one of the ranks was asked to stop. All ranks ask at the same places.
[[nodiscard]] bool agree_to_stop(Ranks& ranks);

}  // namespace seam::host
