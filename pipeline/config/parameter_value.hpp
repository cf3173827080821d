/// A node of a file as the value of a declared parameter, of a stage's or of the host's own.
#pragma once

#include <optional>
#include <seam/declaration.hpp>
#include <string>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"

namespace seam::host {

/// The value, or nothing after a report. `owner` is "image.resize", "[limits]", ...: whose key it
/// is. Broken nodes silently give nothing.
std::optional<Value> read_parameter_value(const Entry& key, const ParameterInfo& parameter,
                                          const std::string& owner, Findings& findings);

/// Whether a parameter of this kind takes several values.
bool is_list(ValueKind kind);

}  // namespace seam::host
