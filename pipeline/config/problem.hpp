/// One finding about a pipeline file, for people and for programs.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

enum class Severity : std::uint8_t { warning, error };

struct Problem {
  Severity severity = Severity::error;
  std::string code;     ///< stable: "unknown-key", "type", "range", "missing-field", ...
  std::string message;  ///< what is wrong, what is accepted, the nearest right name
  Place place;
  std::string source_line;  ///< the text of the line, for the caret
  std::vector<std::string>
      notes;  ///< further sentences: chain of origins, both sides of a contract
};

/// Equal for two reports of the same thing.
inline auto identity_of(const Problem& problem) {
  const Place& place = problem.place;
  return std::tuple(problem.code, problem.message, place.file, place.line, place.column);
}
/// "file:line".
std::string line_of(const Place& place);
bool has_errors(const std::vector<Problem>& problems);

/// As compilers print it:
///     a.toml:7:1: error: 'clases' is not a parameter of model.sccapsnet [unknown-key]
///       7 | clases = 23
///         | ^~~~~~
///       did you mean 'classes'?
std::string to_text(const Problem& problem);
/// A JSON array of all problems, one per line, with the members' names as keys.
std::string to_json(const std::vector<Problem>& problems);

}  // namespace seam::host
