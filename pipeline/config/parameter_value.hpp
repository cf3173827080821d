/// Reads a node of a file as the value of a declared parameter of a stage or of the host.
#pragma once

#include <optional>
#include <seam/declaration.hpp>
#include <string>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"

namespace seam::host {

/// Returns the value, or nullopt after a report. `owner` is the owner of the key: "image.resize",
/// "[limits]", ... For broken nodes it returns nullopt without a report.
std::optional<Value> read_parameter_value(const Entry& key, const ParameterInfo& parameter,
                                          const std::string& owner, Findings& findings);

/// Whether a parameter of this kind takes several values.
bool is_list(ValueKind kind);

}  // namespace seam::host
