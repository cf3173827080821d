#include "pipeline/config/roles.hpp"

#include <algorithm>

#include "pipeline/config/stages.hpp"
#include "pipeline/config/variants.hpp"
#include "seam/declaration.hpp"

namespace seam::host {
namespace {

constexpr std::string_view seed_key = "pipeline.seed";
constexpr std::string_view unless = " unless ";
constexpr std::string_view only_writing = "only_writes";
constexpr std::string_view training = "trains";
constexpr std::string_view sampling = "samples";
constexpr std::string_view path_kind = "path";
constexpr std::string_view reference_kind = "reference";

std::string role_text(ParameterRole role) {
  return std::string(to_string(role));
}

/// The roles of Seam's own stages before stages declared them.
std::string text_by_name(std::string_view key) {
  if (key == seed_key) return role_text(ParameterRole::replicate);
  if (key.ends_with(".threads")) return role_text(ParameterRole::same_results);
  if (!key.starts_with("stage.")) return {};
  if (key.ends_with("_fold")) return role_text(ParameterRole::replicate);
  if (key.ends_with(".fold")) {
    return role_text(ParameterRole::replicate).append(unless).append(key).append("s = 1");
  }
  return key.ends_with(".protocol") ? role_text(ParameterRole::protocol) : std::string();
}

}  // namespace

std::string Roles::text_of(const std::string& key) const {
  if (texts_.empty()) return text_by_name(key);
  const auto found = texts_.find(key);
  return found == texts_.end() ? std::string() : found->second;
}

bool Roles::is_replicate(const std::string& key) const {
  return text_of(key).starts_with(to_string(ParameterRole::replicate));
}

bool Roles::is_used(const std::string& replicate, const Parameters& parameters) const {
  if (!parameters.contains(replicate)) return false;
  const std::string text = text_of(replicate);
  const std::size_t condition = text.find(unless);
  if (condition == std::string::npos) return true;
  const std::size_t name = condition + unless.size();
  const std::size_t equals = text.find(" = ", name);
  const auto other = parameters.find(text.substr(name, equals - name));
  return other == parameters.end() || other->second != text.substr(equals + 3);
}

bool Roles::changes_results(const std::string& key) const {
  static const std::vector<std::string> of_the_host{"pipeline.name",
                                                    "pipeline.threads",
                                                    "pipeline.plugins",
                                                    "pipeline.tensorboard",
                                                    "pipeline.lanes_memory",
                                                    "schedule.checkpoint_every",
                                                    "schedule.keep",
                                                    "limits",
                                                    "chosen"};
  return !stands_in(of_the_host, key) && !is_variant_key(key) && !key.ends_with(".concurrency") &&
         text_of(key) != to_string(ParameterRole::same_results);
}

bool Roles::only_writes(const std::string& stage, const Parameters& parameters) const {
  const std::string key = "stage." + stage;
  if (!texts_.empty()) return text_of(key) == only_writing;
  const auto use = parameters.find(key + ".use");
  return use != parameters.end() &&
         (use->second.starts_with("\"report.") || use->second.starts_with("\"export."));
}

bool Roles::has_text(std::string_view text, std::string_view family, const std::string& stage,
                     const Parameters& parameters) const {
  const std::string key = "stage." + stage;
  if (records(text)) return text_of(key) == text;
  const auto use = parameters.find(key + ".use");
  return use != parameters.end() && use->second.starts_with('"' + std::string(family) + '.');
}

bool Roles::trains(const std::string& stage, const Parameters& parameters) const {
  return has_text(training, "train", stage, parameters);
}

bool Roles::samples(const std::string& stage, const Parameters& parameters) const {
  return has_text(sampling, "sampling", stage, parameters);
}

bool Roles::is_path(const std::string& key) const {
  if (records(path_kind)) return text_of(key) == path_kind;
  return key.ends_with(".root") || key.ends_with(".list") || key.ends_with(".table");
}

bool Roles::may_refer(const std::string& key) const {
  return records(reference_kind) ? text_of(key) == reference_kind : !key.ends_with(".use");
}

bool Roles::records(std::string_view text) const {
  return std::ranges::any_of(texts_, [text](const auto& entry) { return entry.second == text; });
}

std::string Roles::protocol_of(const std::string& stage, const Parameters& parameters) const {
  const std::string prefix = "stage." + stage + ".";
  for (auto at = parameters.lower_bound(prefix);
       at != parameters.end() && at->first.starts_with(prefix); ++at) {
    if (text_of(at->first) == to_string(ParameterRole::protocol)) return at->first;
  }
  return {};
}

bool is_sampler(const StageRunner& stage) {
  return stage.kind() == StageKind::collector && !stage.description().replaces_packets;
}

Roles roles_of(const std::vector<StageDraft>& stages) {
  Roles::Texts texts{{std::string(seed_key), role_text(ParameterRole::replicate)}};
  for (const StageDraft& stage : stages) {
    const std::string name = "stage." + stage.spec.name;
    const Description& description = stage.runner->description();
    if (description.only_writes) texts.emplace(name, only_writing);
    if (description.trains) texts.emplace(name, training);
    if (is_sampler(*stage.runner)) texts.emplace(name, sampling);
    for (const ParameterInfo& parameter : description.parameters) {
      const std::string key = name + "." + parameter.name;
      if (parameter.role == ParameterRole::setting) {
        if (parameter.kind == ValueKind::path) texts.emplace(key, path_kind);
        if (parameter.kind == ValueKind::reference) texts.emplace(key, reference_kind);
        continue;
      }
      std::string& text = texts[key] = role_text(parameter.role);
      if (!parameter.unused_with) continue;
      const auto& [other, values] = *parameter.unused_with;
      text.append(unless).append(name + "." + other + " = " + seam::to_text(values.front()));
    }
  }
  return Roles(std::move(texts));
}

}  // namespace seam::host
