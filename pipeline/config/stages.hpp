/// [stage.NAME] tables: finds each stage's type, checks its parameters, makes and configures it.
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
  std::set<std::string> faulty;                 ///< parameters whose values were refused
  bool sound = false;  ///< configured with all it says; else its fields are not known for sure
};

/// Reads all stages, in the file's order. With `descriptions` they may be records, which cannot
/// run.
std::vector<StageDraft> read_stages(const Table& tree, Registry& registry,
                                    DescriptionCache* descriptions, Findings& findings);

/// Checks that references name stages that offer what is asked for, and not in a circle.
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
