#include "pipeline/config/replicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

std::optional<Value> value_of(const StageDraft& stage, const ParameterInfo& parameter) {
  const auto set = stage.spec.values.find(parameter.name);
  return set == stage.spec.values.end() ? parameter.default_value : set->second;
}

/// Whether the replicate selects something in this stage: a fold of several.
bool is_used(const StageDraft& stage, const ParameterInfo& replicate) {
  if (!replicate.unused_with) return true;
  for (const ParameterInfo& parameter : stage.runner->description().parameters) {
    if (parameter.name != replicate.unused_with->parameter) continue;
    const std::optional<Value> value = value_of(stage, parameter);
    return !value || !contains(replicate.unused_with->values, *value);
  }
  return true;
}

/// Whether the parameter says among how many replicates one is chosen, as `folds` does for `fold`,
/// and both stages choose one.
bool counts_replicates(const StageDraft& one, const StageDraft& other,
                       const ParameterInfo& parameter) {
  return std::ranges::any_of(
      other.runner->description().parameters, [&](const ParameterInfo& replicate) {
        return replicate.role == ParameterRole::replicate && replicate.unused_with &&
               replicate.unused_with->parameter == parameter.name && is_used(one, replicate) &&
               is_used(other, replicate);
      });
}

/// The parameter by which the stages take part in different replicates, if they otherwise differ
/// only by choices.
const ParameterInfo* differing_replicate(const StageDraft& one, const StageDraft& other) {
  const ParameterInfo* found = nullptr;
  for (const ParameterInfo& parameter : other.runner->description().parameters) {
    if (value_of(one, parameter) == value_of(other, parameter)) continue;
    if (parameter.role == ParameterRole::replicate) {
      if (found == nullptr && is_used(one, parameter) && is_used(other, parameter)) {
        found = &parameter;
      }
    } else if (counts_replicates(one, other, parameter)) {
      found = &parameter;  // whether the folds are equal or not, they are of different divisions
    } else if (parameter.choices.empty() && parameter.role != ParameterRole::same_results) {
      return nullptr;
    }
  }
  return found;
}

/// The data sets of the scheduled flows that train, or of those that do not.
std::vector<const StageDraft*> data_sets(const PipelineSpec& spec,
                                         const std::vector<StageDraft>& stages, bool training) {
  std::set<const StageDraft*> found;
  for (const FlowSpec* flow : flows_that_run(spec)) {
    std::vector<const StageDraft*> of_flow;
    bool trains = false;
    for (const FlowNode& node : flow->nodes) {
      const StageDraft* const stage = find_stage(stages, node.stage);
      trains = trains || stage->runner->description().trains;
      if (node.inputs.empty()) of_flow.push_back(stage);
    }
    if (trains == training) found.insert(of_flow.begin(), of_flow.end());
  }
  return {found.begin(), found.end()};
}

}  // namespace

void check_replicates(const PipelineSpec& spec, const std::vector<StageDraft>& stages,
                      Findings& findings) {
  for (const StageDraft* trained : data_sets(spec, stages, true)) {
    for (const StageDraft* evaluated : data_sets(spec, stages, false)) {
      if (trained->spec.use != evaluated->spec.use) continue;
      const ParameterInfo* const replicate = differing_replicate(*trained, *evaluated);
      if (replicate == nullptr) continue;
      const auto text = [&](const StageDraft& stage) {
        return seam::to_text(value_of(stage, *replicate).value_or(Value()));
      };
      const auto place = evaluated->value_places.find(replicate->name);
      findings.error(
          "other-replicate",
          place == evaluated->value_places.end() ? evaluated->spec.place : place->second,
          fmt::format("'{}' is {} here and {} in stage '{}', which trains: images that are "
                      "evaluated may be trained on",
                      replicate->name, text(*evaluated), text(*trained), trained->spec.name),
          {fmt::format("use the same '{}' in both; with like = \"{}\", this stage takes it from "
                       "the other",
                       replicate->name, trained->spec.name)});
    }
  }
}

}  // namespace seam::host
