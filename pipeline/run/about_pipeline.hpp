/// What `seam run --from` has to know of a pipeline's keys.
#pragma once

#include <filesystem>

#include "pipeline/config/load.hpp"
#include "pipeline/run/from_run.hpp"

namespace seam::host {

/// `from`: the run to start from. `pipeline` outlives the result.
[[nodiscard]] AboutPipeline about(const CheckedPipeline& pipeline, std::filesystem::path from);

}  // namespace seam::host
