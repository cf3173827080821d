#include "pipeline/config/resolved.hpp"

#include <fmt/format.h>

#include "pipeline/config/category_outputs.hpp"
#include "pipeline/config/host_tables.hpp"

namespace seam::host {
namespace {

std::string parameter_line(const ParameterInfo& parameter, const Description& description,
                           const StageSpec& spec) {
  const auto reference = spec.references.find(parameter.name);
  if (reference != spec.references.end()) {
    return fmt::format("{} = {}\n", parameter.name, written(Value{reference->second}));
  }
  // A value that is read again is set. It would override another preset, or be rejected if the run
  // is evaluated with other values: a default that depends on them is a comment, and a value that
  // was set is written even if it equals the default. A size that follows from fields is a comment:
  // with other fields, it is a different one.
  const bool depends = parameter.only_with || !parameter.preset_defaults.empty() ||
                       counts_categories(parameter, description);
  const auto set = spec.values.find(parameter.name);
  if (spec.from_fields.contains(parameter.name)) {
    return fmt::format("# {} = {}  # from the fields that arrive\n", parameter.name,
                       written(set->second));
  }
  if (set != spec.values.end() && (depends || !parameter.default_value ||
                                   written(*parameter.default_value) != written(set->second))) {
    return fmt::format("{} = {}\n", parameter.name, written(set->second));
  }
  if (!parameter.default_value || without_effect(parameter, description, spec.values)) {
    return fmt::format("# {}: not set\n", parameter.name);
  }
  return fmt::format("{}{} = {}  # default\n", depends ? "# " : "", parameter.name,
                     written(*parameter.default_value));
}

/// `table` says which of the host's tables a spec's is; its keys are bound to copies.
template <class Spec>
std::string keys_of(const Spec& spec, HostTable (*table)(Spec&)) {
  Spec copy = spec;
  Spec fresh;
  return written_keys(table(copy), table(fresh));
}

}  // namespace

std::string resolved_text(const PipelineSpec& spec, const std::vector<StageDraft>& stages) {
  std::string text = "[pipeline]\n" + keys_of(spec, pipeline_table);
  text += "\n[limits]\n" + keys_of(spec.limits, limits_table);
  for (const StageDraft& stage : stages) {
    text += fmt::format("\n[stage.{}]\n", stage.spec.name) + keys_of(stage.spec, stage_table);
    const Description& description = stage.runner->description();
    for (const ParameterInfo& parameter : description.parameters) {
      text += parameter_line(parameter, description, stage.spec);
    }
  }
  if (!spec.paths.empty()) text += "\n[path]\n";
  for (const PathSpec& path : spec.paths) {
    text += fmt::format("{} = {}\n", path.name, written(Value{path.text}));
  }
  text += "\n[flow]\n";
  for (const FlowSpec& flow : spec.flows) {
    text += fmt::format("{} = {}\n", flow.name, written(Value{flow.text}));
  }
  text += "\n[schedule]\n" + keys_of(spec.schedule, schedule_table);
  if (!spec.chosen.empty()) text += "\n[chosen]\n" + keys_of(spec.chosen, chosen_table);
  return text;
}

}  // namespace seam::host
