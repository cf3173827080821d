/// The weights that a stage imports at the start of a run: the value of its `initial` path
/// parameter.
#pragma once

#include <string>

#include "pipeline/config/pipeline_spec.hpp"
#include "seam/declaration.hpp"

namespace seam::host {

/// A file or run folder, as written in the pipeline file; empty: the stage imports no weights.
inline std::string initial_weights(const StageSpec& stage, const Description& description) {
  for (const ParameterInfo& parameter : description.parameters) {
    if (!parameter.initial || parameter.kind != ValueKind::path) continue;
    const auto set = stage.values.find(parameter.name);
    const auto* const text =
        set == stage.values.end() ? nullptr : std::get_if<std::string>(&set->second);
    if (text != nullptr && !text->empty()) return *text;
  }
  return {};
}

}  // namespace seam::host
