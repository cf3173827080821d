/// How `seam inspect` writes what is known of a stage or a field: for people, as a page of the
/// documentation, for programs. All of it goes to the standard output.
#pragma once

#include <optional>
#include <seam/network.hpp>
#include <seam/runner.hpp>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

/// A stage as such, or as a pipeline configures it.
struct Inspected {
  const StageRunner& stage;
  std::string plugin;               ///< the file that offers it
  const StageSpec* spec = nullptr;  ///< the values it has; null: it is described as such
};

/// A field, and what the stages with their default parameters say of it.
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
/// The part of a stage's page that its declaration knows.
void print_markdown(const StageRunner& stage);
void print_json(const Inspected& inspected, const std::optional<NetworkPart>& network);
void print_json(const InspectedField& inspected);

}  // namespace seam::host
