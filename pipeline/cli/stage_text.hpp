/// Output of `seam inspect` for a stage or a field: as text, as a documentation page, or as JSON.
/// The functions that print write to standard output.
#pragma once

#include <optional>
#include <seam/network.hpp>
#include <seam/runner.hpp>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

/// A stage type, or a stage of a pipeline.
struct Inspected {
  const StageRunner& stage;
  std::string plugin;               ///< the file that provides it
  const StageSpec* spec = nullptr;  ///< its values in the pipeline; null: a stage type
};

/// A field, with its declarations in stages with default parameters.
struct InspectedField {
  struct Use {
    std::string stage;
    FieldInfo field;
  };
  std::string name;
  std::vector<Use> provided;
  std::vector<Use> needed;
  std::vector<Use> accepted;
};

void print_text(const Inspected& inspected);
void print_text(const InspectedField& inspected);
void print_network(const NetworkPart& network);
/// The generated part of a stage's page.
void print_markdown(const StageRunner& stage);
void print_json(const Inspected& inspected, const std::optional<NetworkPart>& network);
void print_json(const InspectedField& inspected);

/// A parameter's value; numbers that JSON does not have become strings: "inf", "-inf", "nan".
Json value_json(const Value& value);

}  // namespace seam::host
