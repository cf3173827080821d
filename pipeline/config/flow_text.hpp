/// The text of a flow: "items -> decode -> {crop, flip -> blur} -> batch".
///
///     flow   = chain                                      items ─► decode ┬► crop ────────┬► batch
///     chain  = step ("->" step)*                                          └► flip ─► blur ┘
///     step   = name | "{" chain ("," chain)* "}"
///     name   = [A-Za-z_][A-Za-z0-9_-]*
///
/// What follows a brace joins its branches. The text of a [path] is the same, but it may begin with
/// branches, which follow whatever precedes the path in a flow. A name is that of a stage or a
/// path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/variables.hpp"

namespace seam::host {

struct FlowStep {
  std::string stage;
  std::size_t offset = 0;           ///< byte in the text
  std::vector<std::size_t> inputs;  ///< positions of earlier steps; none: it begins the flow
};

struct FlowText {
  std::vector<FlowStep> steps;    ///< in topological order
  std::vector<std::size_t> ends;  ///< positions of the last steps
  std::vector<TextFault> faults;
};

/// Whether the text is valid as a stage's name in a flow.
bool is_flow_name(std::string_view name);

enum class TextKind : std::uint8_t { flow, path };

/// Reads a flow or a path. If there are errors, the steps are those before the first error.
FlowText parse_flow(std::string_view text, TextKind kind = TextKind::flow);

}  // namespace seam::host
