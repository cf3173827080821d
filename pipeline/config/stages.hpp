/// [stage.NAME] tables: finds each stage's type, checks its parameters, creates and configures the
/// stage.
///
///     use ──► Registry::make ──► description ──► every key checked ──► configure ──► references
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/plugins/registry.hpp"

namespace seam::host {

struct StageDraft {
  StageSpec spec;
  std::unique_ptr<StageRunner> runner;          ///< null: its type is unknown
  std::map<std::string, Node> reference_nodes;  ///< where each reference is written
  std::map<std::string, Place> value_places;    ///< of the parameters that the file sets
  std::set<std::string> faulty;                 ///< parameters with rejected values
  std::set<std::string> inherited;              ///< parameters that `like` took from another stage
  bool sound = false;  ///< configured completely; otherwise its fields are uncertain
};

/// Reads all stages, in the file's order. With `descriptions` they may be cached descriptions,
/// which cannot run.
std::vector<StageDraft> read_stages(const Table& tree, Registry& registry,
                                    DescriptionCache* descriptions, Findings& findings);

/// Sets parameters of a configured stage in addition to those that the file sets.
void configure_again(StageDraft& stage, const Values& values, Registry& registry,
                     DescriptionCache* descriptions, Findings& findings);

/// Checks that references name stages with the required interface, and that there are no cycles.
void check_references(const std::vector<StageDraft>& stages, Findings& findings);

/// Points the references of checked stages at each other.
void bind_references(const std::vector<StageDraft>& stages);

const StageDraft* find_stage(const std::vector<StageDraft>& stages, std::string_view name);
std::vector<std::string> names_of(const std::vector<StageDraft>& stages);

/// "stage 'blur' (image.blur)".
std::string described(const StageDraft& stage);
/// "a source", "a parallel transform", ...
std::string kind_text(StageKind kind);

}  // namespace seam::host
