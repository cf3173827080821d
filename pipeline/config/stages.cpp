#include "pipeline/config/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <seam/error.hpp>
#include <utility>

#include "pipeline/config/flow_text.hpp"
#include "pipeline/config/host_tables.hpp"
#include "pipeline/config/parameter_value.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

/// Keys of a stage's table that belong to Seam, not to the stage.
const std::vector<std::string>& common_keys() {
  static const std::vector<std::string> keys = [] {
    StageSpec any;
    return stage_table(any).names();
  }();
  return keys;
}

bool is_common(const std::string& key) {
  return contains(common_keys(), key);
}

std::vector<std::string> parameter_names(const Description& description) {
  return mapped(description.parameters, &ParameterInfo::name);
}

/// A note for messages on keys that `like` took from another stage.
std::string like_note(const StageDraft& draft) {
  if (draft.spec.like.empty()) return {};
  return fmt::format("stage '{}' is like '{}', which is {}", draft.spec.name, draft.spec.like,
                     draft.spec.use);
}

/// If the cached description does not cover the stage's values, creates the real stage. Throws
/// seam::Error if its plugin cannot be loaded.
void make_real(StageDraft& draft, Registry& registry, DescriptionCache* descriptions) {
  if (descriptions == nullptr) return;
  const std::filesystem::path& plugin = registry.find(draft.spec.use)->path;
  if (descriptions->knows(plugin, draft.spec.use, draft.spec.values)) return;
  draft.runner = registry.make(draft.spec.use, draft.spec.name);
}

void apply_values(StageDraft& draft, const Registry& registry, DescriptionCache* descriptions,
                  Findings& findings) {
  draft.sound = false;
  try {
    draft.runner->configure(draft.spec.values);
    if (descriptions != nullptr) {
      descriptions->record_configured(registry.find(draft.spec.use)->path, *draft.runner,
                                      draft.spec.values);
    }
    draft.sound = true;
  } catch (const Error& error) {
    const bool defect = error.fault() == Fault::internal;
    findings.error(
        defect ? "plugin-defect" : "configure", draft.spec.place,
        defect ? fmt::format("{}: {}", described(draft), error.what())
               : fmt::format("{} rejects its parameters: {}", described(draft), error.what()),
        {like_note(draft)});
  }
}

class StageReader {
 public:
  StageReader(Registry& registry, DescriptionCache* descriptions, Findings& findings)
      : registry_(registry),
        descriptions_(descriptions),
        findings_(findings),
        unheard_(no_sources_) {}

  StageDraft read(const Entry& entry) {
    StageDraft draft;
    draft.spec.name = entry.key;
    draft.spec.place = entry.key_place;
    if (!is_flow_name(entry.key)) {
      findings_.error("stage-name", entry.key_place,
                      fmt::format("'{}' is not a valid stage name", entry.key),
                      {"names have letters, digits, '_' and '-', and begin with a letter or '_'"});
    }
    const Table* table = read_table(entry, fmt::format("[stage.{}]", entry.key), findings_);
    if (table == nullptr || entry.node.broken) return draft;
    read_like(*table, draft);
    const std::size_t errors_before = findings_.errors();
    make(entry, *table, draft);
    read_on_error(*table, draft);
    if (draft.runner == nullptr) return draft;
    read_concurrency(*table, draft);
    read_parameters(entry, *table, draft);
    const bool broken =
        std::ranges::any_of(table->entries, [](const Entry& key) { return key.node.broken; });
    check_effects(draft);
    if (findings_.errors() == errors_before && !broken) configure(draft, *table->find("use"));
    return draft;
  }

 private:
  static void read_like(const Table& table, StageDraft& draft) {
    const Entry* like = table.find("like");
    if (like != nullptr) draft.spec.like = *like->node.text();  // valid: it has been resolved
  }

  /// Errors in keys that `like` took from another stage are reported only for that stage.
  Findings& findings_of(const Entry& key) {
    return key.inherited_from.empty() ? findings_ : unheard_;
  }

  void make(const Entry& entry, const Table& table, StageDraft& draft) {
    const Entry* use = table.find("use");
    if (use == nullptr) {
      findings_.error("missing-use", entry.key_place,
                      fmt::format("stage '{}' has no type", entry.key),
                      {"write use = \"FAMILY.NAME\"; `seam plugins` lists them",
                       "or like = \"STAGE\", to copy another stage of this file"});
      return;
    }
    const auto type = read_text(*use, fmt::format("stage '{}'", entry.key), findings_);
    if (!type) return;
    draft.spec.use = *type;
    try {
      draft.runner = registry_.describe(*type, entry.key, descriptions_);
    } catch (const Error& error) {
      refuse_type(*use, *type, error);
      return;
    }
    for (const ParameterInfo& parameter : draft.runner->description().parameters) {
      if (!is_common(parameter.name)) continue;
      findings_.error("reserved-parameter", use->node.place,
                      fmt::format("{} declares a parameter '{}', but this name is reserved in "
                                  "every stage's table; rename it in the plugin",
                                  *type, parameter.name));
    }
  }

  void refuse_type(const Entry& use, const std::string& type, const Error& error) {
    const std::string text = error.full_message();
    const std::string message = text.substr(0, text.find('\n'));
    std::vector<std::string> notes;
    for (std::string_view line : split(std::string_view(text).substr(message.size()), '\n')) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      notes.emplace_back(line);
    }
    const std::size_t offering = registry_.find_all(type).size();
    const std::string code = offering == 0                           ? "unknown-stage-type"
                             : offering > 1                          ? "ambiguous-stage-type"
                             : error.fault() == Fault::configuration ? "plugin-load"
                                                                     : "plugin-defect";
    // The search path is the same for all: reported once.
    const bool known = !reported_.insert(code == "plugin-load" ? message : code).second;
    if (known && offering == 0) {
      std::erase_if(notes, [](const std::string& note) { return !note.starts_with("did you"); });
    }
    findings_.error(code, use.node.place, message, std::move(notes));
  }

  void read_on_error(const Table& table, StageDraft& draft) {
    const Entry* entry = table.find("on_error");
    if (entry == nullptr) return;
    const bool sound =
        read_key(stage_table(draft.spec), *entry, described(draft), findings_of(*entry));
    if (sound && draft.spec.on_error != OnError::fail) check_on_error(*entry, draft);
  }

  /// Sources receive no packets that could be skipped, and a packet that a collector has partly
  /// consumed cannot be passed to it again.
  void check_on_error(const Entry& entry, const StageDraft& draft) {
    if (draft.runner == nullptr) return;
    const StageKind kind = draft.runner->kind();
    const bool retries = draft.spec.on_error == OnError::retry;
    std::string why;
    if (kind == StageKind::source) {
      why = "is a source and receives no packets to skip or retry; an error in it ends the run";
    } else if (kind == StageKind::collector && retries) {
      why =
          "is a collector, which may have consumed part of a packet when it fails, so it cannot "
          "be retried";
    } else if (draft.runner->description().trains && retries) {
      why = "trains, and a loss allows only one backward pass, so it cannot be retried";
    }
    if (why.empty()) return;
    findings_of(entry).error(
        "on-error", entry.node.place, described(draft) + " " + why,
        {kind == StageKind::source ? "remove 'on_error'"
                                   : "'on_error' must be \"fail\" or \"skip\" here"});
  }

  void read_concurrency(const Table& table, StageDraft& draft) {
    const Entry* entry = table.find("concurrency");
    if (entry == nullptr) return;
    Findings& findings = findings_of(*entry);
    if (!read_key(stage_table(draft.spec), *entry, described(draft), findings)) return;
    const StageKind kind = draft.runner->kind();
    if (*draft.spec.concurrency > 1 && kind != StageKind::parallel_transform) {
      findings.error(
          "concurrency", entry->node.place,
          fmt::format("{} is {}, which processes one packet at a time; 'concurrency' is for "
                      "parallel transforms",
                      described(draft), kind_text(kind)));
    }
  }

  void read_parameters(const Entry& entry, const Table& table, StageDraft& draft) {
    std::map<std::string, const Entry*> given;  // by today's name
    for (const Entry& key : table.entries) {
      if (!is_common(key.key)) read_parameter(key, draft, given);
    }
    for (const ParameterInfo& parameter : draft.runner->description().parameters) {
      // check_references gives better messages for references.
      const bool reference = parameter.kind == ValueKind::reference;
      if (!parameter.required || reference || given.contains(parameter.name)) continue;
      findings_.error(
          "missing-parameter", entry.key_place,
          fmt::format("{} needs '{}': {}", described(draft), parameter.name, parameter.doc),
          {"it takes " + accepted_by(parameter), like_note(draft)});
    }
  }

  void read_parameter(const Entry& key, StageDraft& draft,
                      std::map<std::string, const Entry*>& given) {
    const Description& description = draft.runner->description();
    const ParameterInfo* parameter = nullptr;
    bool renamed = false;
    for (const ParameterInfo& candidate : description.parameters) {
      if (candidate.name == key.key) parameter = &candidate;
    }
    for (const ParameterInfo& candidate : description.parameters) {
      const auto& old_names = candidate.renamed_from;
      if (parameter == nullptr && contains(old_names, key.key)) {
        parameter = &candidate;
        renamed = true;
      }
    }
    if (parameter == nullptr) {
      if (!is_recorded_default(key.key_place)) unknown_parameter(key, draft);
      return;
    }
    const auto [earlier, first] = given.emplace(parameter->name, &key);
    if (!first) {
      // The stage's own keys come first, whichever name of the parameter the other stage uses.
      if (key.inherited_from != earlier->second->inherited_from) return;
      findings_.error("parameter-twice", key.key_place,
                      fmt::format("'{}' and '{}' are the same parameter, '{}'",
                                  earlier->second->key, key.key, parameter->name),
                      {fmt::format("'{}' is in line {}", earlier->second->key,
                                   earlier->second->key_place.line)});
      return;
    }
    if (renamed) {
      findings_.warning(
          "renamed-parameter", key.key_place,
          fmt::format("'{}' of {} is now called '{}'", key.key, draft.spec.use, parameter->name));
    }
    draft.faulty.insert(parameter->name);
    if (!key.node.broken && read_value(key, *parameter, draft)) draft.faulty.erase(parameter->name);
  }

  void unknown_parameter(const Entry& key, const StageDraft& draft) {
    std::vector<std::string> names = parameter_names(draft.runner->description());
    std::vector<std::string> all = names;
    all.insert(all.end(), common_keys().begin(), common_keys().end());
    findings_.error("unknown-parameter", key.key_place,
                    fmt::format("'{}' is not a parameter of {}", key.key, draft.spec.use),
                    {did_you_mean(key.key, all),
                     names.empty() ? "it has no parameters" : "it takes: " + enumerated(names),
                     key.inherited_from.empty() ? like_note(draft) : std::string()});
  }

  /// Stores the value if it is valid.
  bool read_value(const Entry& key, const ParameterInfo& parameter, StageDraft& draft) {
    const auto value = read_parameter_value(key, parameter, draft.spec.use, findings_);
    if (!value) return false;
    draft.value_places[parameter.name] = key.node.place;
    if (!key.inherited_from.empty()) draft.inherited.insert(parameter.name);
    if (parameter.kind == ValueKind::reference) {
      draft.spec.references[parameter.name] = *key.node.text();
      draft.reference_nodes[parameter.name] = key.node;
    } else {
      draft.spec.values[parameter.name] = *value;
    }
    return true;
  }

  /// Whether a run's record has the line for a default, which the version of the run may have used
  /// and this one does not.
  [[nodiscard]] bool is_recorded_default(const Place& place) const {
    return std::filesystem::path(place.file).filename() == "resolved.toml" &&
           findings_.line(place).ends_with("# default");
  }

  /// Whether --set sets the parameter.
  static bool is_override(const StageDraft& draft, const std::string& parameter) {
    const auto place = draft.value_places.find(parameter);
    return place != draft.value_places.end() && place->second.file == "--set";
  }

  /// Whether the values are known on which the parameter's effect depends.
  static bool knows_effect(const ParameterInfo& parameter, const StageDraft& draft) {
    const auto is_faulty = [&](const std::string& name) { return draft.faulty.contains(name); };
    if (parameter.only_with && is_faulty(parameter.only_with->parameter)) return false;
    return std::ranges::none_of(
        draft.runner->description().parameters,
        [&](const ParameterInfo& other) { return other.is_preset && is_faulty(other.name); });
  }

  /// Reports the parameters that the values of others leave without an effect. Drops those that
  /// `like` took from another stage, for which they may have one, those of the file whose condition
  /// --set changes: it cannot remove them, and defaults that a run recorded.
  void check_effects(StageDraft& draft) {
    const Description& description = draft.runner->description();
    for (const ParameterInfo& parameter : description.parameters) {
      const auto place = draft.value_places.find(parameter.name);
      if (place == draft.value_places.end() || !knows_effect(parameter, draft)) continue;
      const auto problem = without_effect(parameter, description, draft.spec.values);
      if (!problem) continue;
      if (draft.inherited.contains(parameter.name) || is_recorded_default(place->second) ||
          (parameter.only_with && is_override(draft, parameter.only_with->parameter) &&
           !is_override(draft, parameter.name))) {
        draft.spec.values.erase(parameter.name);
        draft.value_places.erase(place);
      } else {
        findings_.error("no-effect", place->second,
                        fmt::format("'{}' of {} {}", parameter.name, draft.spec.use, *problem));
      }
    }
  }

  void configure(StageDraft& draft, const Entry& use) {
    try {
      make_real(draft, registry_, descriptions_);
    } catch (const Error& error) {
      return refuse_type(use, draft.spec.use, error);
    }
    apply_values(draft, registry_, descriptions_, findings_);
  }

  Registry& registry_;
  DescriptionCache* descriptions_;  // none: plugins are loaded
  Findings& findings_;
  Sources no_sources_;
  Findings unheard_;
  std::set<std::string> reported_;
};

}  // namespace

std::vector<StageDraft> read_stages(const Table& tree, Registry& registry,
                                    DescriptionCache* descriptions, Findings& findings) {
  std::vector<StageDraft> stages;
  const Table* table = read_table(tree, "stage", findings);
  if (table == nullptr) return stages;
  std::vector<std::string> defined;
  for (const Entry& stage : table->entries) {
    if (stage.key_place.file != "--set") defined.push_back(stage.key);
  }
  StageReader reader(registry, descriptions, findings);
  for (const Entry& stage : table->entries) {
    const bool only_set = !contains(defined, stage.key);
    const Table* keys = stage.node.table();
    if (only_set && keys != nullptr && keys->find("use") == nullptr) {
      findings.error(
          "unknown-stage", stage.key_place, fmt::format("there is no stage '{}'", stage.key),
          {did_you_mean(stage.key, defined),
           defined.empty() ? std::string{} : "stages of this file: " + enumerated(defined)});
      continue;
    }
    stages.push_back(reader.read(stage));
  }
  return stages;
}

void configure_again(StageDraft& stage, const Values& values, Registry& registry,
                     DescriptionCache* descriptions, Findings& findings) {
  stage.spec.values.insert(values.begin(), values.end());
  try {
    make_real(stage, registry, descriptions);
  } catch (const Error& error) {
    findings.error("plugin-load", stage.spec.place, error.what());
    return;
  }
  apply_values(stage, registry, descriptions, findings);
}

const StageDraft* find_stage(const std::vector<StageDraft>& stages, std::string_view name) {
  const auto found = std::ranges::find_if(
      stages, [&](const StageDraft& stage) { return stage.spec.name == name; });
  return found == stages.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const std::vector<StageDraft>& stages) {
  return mapped(stages, [](const StageDraft& stage) { return stage.spec.name; });
}

std::string described(const StageDraft& stage) {
  if (stage.spec.use.empty()) return fmt::format("stage '{}'", stage.spec.name);
  return fmt::format("stage '{}' ({})", stage.spec.name, stage.spec.use);
}

std::string kind_text(StageKind kind) {
  // In the order of the enumeration.
  static constexpr std::array texts{"a source", "a transform", "a parallel transform",
                                    "a collector", "a sink"};
  return texts.at(static_cast<std::size_t>(kind));
}

}  // namespace seam::host
