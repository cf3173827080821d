/// Writes a checked pipeline as one complete TOML text: no `extends`, no variables, all defaults.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/stages.hpp"

namespace seam::host {

/// The text reads back as the same pipeline. Values that are a stage's defaults are marked so.
std::string resolved_text(const PipelineSpec& spec, const std::vector<StageDraft>& stages);

}  // namespace seam::host
