#include "pipeline/config/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <seam/error.hpp>
#include <set>
#include <utility>

#include "pipeline/config/flow_text.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/plugins/nearest.hpp"

namespace seam::host {
namespace {

constexpr std::int64_t most_retries = 100;
constexpr std::int64_t most_concurrency = 4096;

/// Keys of a stage's table that are Seam's, not the stage's.
const std::vector<std::string>& common_keys() {
  static const std::vector<std::string> keys{"use", "on_error", "concurrency"};
  return keys;
}

bool is_common(const std::string& key) {
  return std::find(common_keys().begin(), common_keys().end(), key) != common_keys().end();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

/// A single value that is no list.
std::optional<Value> scalar(const Node& node) {
  if (const auto* flag = std::get_if<bool>(&node.value)) return Value{*flag};
  if (const auto* integer = std::get_if<std::int64_t>(&node.value)) return Value{*integer};
  if (const auto* number = std::get_if<double>(&node.value)) return Value{*number};
  if (const std::string* text = node.text()) return Value{*text};
  return std::nullopt;
}

template <class T>
std::optional<std::vector<T>> elements_of(const Array& array) {
  std::vector<T> elements;
  for (const Node& node : array) {
    if (const T* element = std::get_if<T>(&node.value)) {
      elements.push_back(*element);
      continue;
    }
    if constexpr (std::is_same_v<T, double>) {
      if (const auto* integer = std::get_if<std::int64_t>(&node.value)) {
        elements.push_back(static_cast<double>(*integer));
        continue;
      }
    }
    return std::nullopt;
  }
  return elements;
}

/// The node as a value of the parameter's kind; a single value stands for a list of one, an integer
/// for a number. Nothing where it is of another kind.
std::optional<Value> value_for(const ParameterInfo& parameter, const Node& node) {
  const Array single{node};
  const Array& array = node.array() != nullptr ? *node.array() : single;
  const auto first = [&](auto list) -> std::optional<Value> {
    if (!list || node.array() != nullptr) return std::nullopt;
    return Value{list->front()};
  };
  const auto all = [](auto list) -> std::optional<Value> {
    if (!list) return std::nullopt;
    return Value{std::move(*list)};
  };
  switch (parameter.kind) {
    case ValueKind::boolean:
      if (const auto* flag = std::get_if<bool>(&node.value)) return Value{*flag};
      return std::nullopt;
    case ValueKind::integer:
      return first(elements_of<std::int64_t>(array));
    case ValueKind::number:
      return first(elements_of<double>(array));
    case ValueKind::text:
    case ValueKind::path:
    case ValueKind::enumeration:
    case ValueKind::reference:
      return first(elements_of<std::string>(array));
    case ValueKind::integers:
      return all(elements_of<std::int64_t>(array));
    case ValueKind::numbers:
      return all(elements_of<double>(array));
    case ValueKind::texts:
    case ValueKind::enumerations:
      return all(elements_of<std::string>(array));
  }
  return std::nullopt;
}

/// As the file writes it, short enough for a message.
std::string shown(const Node& node) {
  constexpr std::size_t longest = 60;
  const auto value = scalar(node);
  if (!value) return kind_of(node);
  std::string text = seam::to_text(*value);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

bool looks_like_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// What the writer may have meant by a value of the wrong kind.
std::string type_hint(const ParameterInfo& parameter, const Node& node) {
  const bool wants_text = parameter.kind == ValueKind::text || parameter.kind == ValueKind::path;
  if (const std::string* text = node.text()) {
    const bool number = looks_like_number(*text) && !wants_text;
    const bool flag = (*text == "true" || *text == "false") && !wants_text;
    return number || flag ? "write it without quotes" : std::string{};
  }
  const auto* number = std::get_if<double>(&node.value);
  const bool wants_integer =
      parameter.kind == ValueKind::integer || parameter.kind == ValueKind::integers;
  if (wants_integer && number != nullptr && std::nearbyint(*number) == *number) {
    return "write it without a point";
  }
  return wants_text && scalar(node) ? "write it in quotes" : std::string{};
}

std::vector<std::string> parameter_names(const Description& description) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : description.parameters) names.push_back(parameter.name);
  return names;
}

class StageReader {
 public:
  StageReader(Registry& registry, DescriptionCache* descriptions, Findings& findings)
      : registry_(registry), descriptions_(descriptions), findings_(findings) {}

  StageDraft read(const Entry& entry) {
    StageDraft draft;
    draft.spec.name = entry.key;
    draft.spec.place = entry.key_place;
    if (!is_flow_name(entry.key)) {
      findings_.error("stage-name", entry.key_place,
                      fmt::format("'{}' cannot be a stage's name", entry.key),
                      {"names have letters, digits, '_' and '-', and begin with a letter or '_'"});
    }
    const Table* table = read_table(entry, fmt::format("[stage.{}]", entry.key), findings_);
    if (table == nullptr) return draft;
    const std::size_t errors_before = findings_.errors();
    make(entry, *table, draft);
    read_on_error(*table, draft);
    if (draft.runner == nullptr) return draft;
    read_concurrency(*table, draft);
    read_parameters(entry, *table, draft);
    const bool broken = std::any_of(table->entries.begin(), table->entries.end(),
                                    [](const Entry& key) { return key.node.broken; });
    if (findings_.errors() == errors_before && !broken) configure(draft, *table->find("use"));
    return draft;
  }

 private:
  void make(const Entry& entry, const Table& table, StageDraft& draft) {
    const Entry* use = table.find("use");
    if (use == nullptr) {
      findings_.error("missing-use", entry.key_place,
                      fmt::format("stage '{}' does not say which plugin's stage it is", entry.key),
                      {"write use = \"FAMILY.NAME\"; `seam plugins` lists them"});
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
                      fmt::format("{} declares a parameter '{}', a name that every stage's table "
                                  "has already; rename it in the plugin",
                                  *type, parameter.name));
    }
  }

  void refuse_type(const Entry& use, const std::string& type, const Error& error) {
    std::vector<std::string> notes = lines_of(error.full_message());
    for (std::string& note : notes) note.erase(0, note.find_first_not_of(' '));
    const std::string message = notes.front();
    notes.erase(notes.begin());
    const std::size_t offering = registry_.find_all(type).size();
    const std::string code = offering == 0                           ? "unknown-stage-type"
                             : offering > 1                          ? "ambiguous-stage-type"
                             : error.fault() == Fault::configuration ? "plugin-load"
                                                                     : "plugin-defect";
    // The search path is the same for all: told once.
    const bool told = !told_.insert(code == "plugin-load" ? message : code).second;
    if (told && offering == 0) {
      std::erase_if(notes, [](const std::string& note) { return !note.starts_with("did you"); });
    }
    findings_.error(code, use.node.place, message, std::move(notes));
  }

  void read_on_error(const Table& table, StageDraft& draft) {
    const Entry* entry = table.find("on_error");
    if (entry == nullptr || entry->node.broken) return;
    const std::string accepted = "'on_error' is \"fail\", \"skip\" or { retry = 3 }";
    if (const std::string* text = entry->node.text()) {
      if (*text == "fail") return;
      if (*text == "skip") {
        draft.spec.on_error = OnError::skip;
        check_on_error(*entry, draft);
        return;
      }
      findings_.error("choice", entry->node.place, fmt::format("{}, not \"{}\"", accepted, *text),
                      {did_you_mean(*text, {"fail", "skip"})});
      return;
    }
    const Table* retry = entry->node.table();
    const Entry* count = retry != nullptr ? retry->find("retry") : nullptr;
    if (retry == nullptr || (count == nullptr && retry->entries.empty())) {
      findings_.error("type", entry->node.place, accepted + ", not " + kind_of(entry->node));
      return;
    }
    refuse_unknown_keys(*retry, "'on_error'", {"retry"}, findings_);
    if (count == nullptr) return;
    if (const auto retries = read_integer(*count, "'on_error'", 1, findings_, most_retries)) {
      draft.spec.on_error = OnError::retry;
      draft.spec.retries = static_cast<int>(*retries);
      check_on_error(*entry, draft);
    }
  }

  /// Sources take no packets that they could leave out, and what a collector has half taken in
  /// cannot be given to it again.
  void check_on_error(const Entry& entry, const StageDraft& draft) {
    if (draft.runner == nullptr) return;
    const StageKind kind = draft.runner->kind();
    if (kind == StageKind::source) {
      findings_.error("on-error", entry.node.place,
                      fmt::format("{} is a source, which takes no packets that it could fail on; "
                                  "what fails in it ends the run",
                                  described(draft)),
                      {"leave 'on_error' out"});
    } else if (kind == StageKind::collector && draft.spec.on_error == OnError::retry) {
      findings_.error(
          "on-error", entry.node.place,
          fmt::format("{} is a collector, which may have taken half of a packet in when "
                      "it fails: nothing can be tried again",
                      described(draft)),
          {"'on_error' is \"fail\" or \"skip\" here"});
    }
  }

  void read_concurrency(const Table& table, StageDraft& draft) {
    const Entry* entry = table.find("concurrency");
    if (entry == nullptr) return;
    const auto bound = read_integer(*entry, described(draft), 1, findings_, most_concurrency);
    if (!bound) return;
    const StageKind kind = draft.runner->kind();
    if (*bound > 1 && kind != StageKind::parallel_transform) {
      findings_.error("concurrency", entry->node.place,
                      fmt::format("{} is {}, which sees one packet at a time; 'concurrency' is for "
                                  "parallel transforms",
                                  described(draft), kind_text(kind)));
      return;
    }
    draft.spec.concurrency = static_cast<int>(*bound);
  }

  void read_parameters(const Entry& entry, const Table& table, StageDraft& draft) {
    std::map<std::string, const Entry*> given;  // by today's name
    for (const Entry& key : table.entries) {
      if (!is_common(key.key)) read_parameter(key, draft, given);
    }
    for (const ParameterInfo& parameter : draft.runner->description().parameters) {
      // Of references, check_references knows more to say.
      const bool reference = parameter.kind == ValueKind::reference;
      if (!parameter.required || reference || given.contains(parameter.name)) continue;
      findings_.error(
          "missing-parameter", entry.key_place,
          fmt::format("{} needs '{}': {}", described(draft), parameter.name, parameter.doc),
          {"it takes " + accepted_by(parameter)});
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
      if (parameter == nullptr &&
          std::find(old_names.begin(), old_names.end(), key.key) != old_names.end()) {
        parameter = &candidate;
        renamed = true;
      }
    }
    if (parameter == nullptr) return unknown_parameter(key, draft);
    const auto [earlier, first] = given.emplace(parameter->name, &key);
    if (!first) {
      findings_.error("parameter-twice", key.key_place,
                      fmt::format("'{}' and '{}' are one parameter, '{}'", earlier->second->key,
                                  key.key, parameter->name),
                      {fmt::format("'{}' stands in line {}", earlier->second->key,
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
    if (key.for_other_use) {
      findings_.warning("parameter-left-out", key.key_place,
                        fmt::format("'{}' is left out: stage '{}' is now {}, which has no such "
                                    "parameter",
                                    key.key, draft.spec.name, draft.spec.use));
      return;
    }
    std::vector<std::string> all = names;
    all.insert(all.end(), common_keys().begin(), common_keys().end());
    findings_.error("unknown-parameter", key.key_place,
                    fmt::format("'{}' is not a parameter of {}", key.key, draft.spec.use),
                    {did_you_mean(key.key, all),
                     names.empty() ? "it has no parameters" : "it takes: " + enumerated(names)});
  }

  /// Keeps the value where it fits.
  bool read_value(const Entry& key, const ParameterInfo& parameter, StageDraft& draft) {
    const std::string accepted =
        fmt::format("'{}' of {} takes {}", key.key, draft.spec.use, accepted_by(parameter));
    const auto value = value_for(parameter, key.node);
    if (!value) {
      const Node& culprit = wrong_element(parameter, key.node);
      findings_.error("type", culprit.place, accepted + ", not " + shown_kind(parameter, culprit),
                      {type_hint(parameter, culprit)});
      return false;
    }
    if (problem_with(parameter, *value)) {
      const Node& culprit = wrong_element(parameter, key.node);
      const bool choice = !parameter.choices.empty() && culprit.text() != nullptr;
      findings_.error(choice ? "choice" : "range", culprit.place,
                      accepted + ", not " + shown(culprit),
                      {choice ? did_you_mean(*culprit.text(), parameter.choices) : std::string{}});
      return false;
    }
    if (parameter.kind == ValueKind::reference) {
      draft.spec.references[parameter.name] = *key.node.text();
      draft.reference_nodes[parameter.name] = key.node;
    } else {
      draft.spec.values[parameter.name] = *value;
    }
    return true;
  }

  static std::string shown_kind(const ParameterInfo& parameter, const Node& node) {
    if (is_list(parameter.kind) && node.array() != nullptr) return "a list of lists";
    const std::string kind = kind_of(node);
    return scalar(node) && kind != "true or false" ? fmt::format("{} ({})", kind, shown(node))
           : scalar(node)                          ? shown(node)
                                                   : kind;
  }

  /// The first element of a list that is wrong by itself, or the whole value.
  static const Node& wrong_element(const ParameterInfo& parameter, const Node& node) {
    if (!is_list(parameter.kind) || node.array() == nullptr) return node;
    for (const Node& element : *node.array()) {
      const auto value = value_for(parameter, element);
      if (element.array() != nullptr || !value || problem_with(parameter, *value)) return element;
    }
    return node;
  }

  void configure(StageDraft& draft, const Entry& use) {
    if (descriptions_ != nullptr && !make_real(draft, use)) return;
    try {
      draft.runner->configure(draft.spec.values);
      if (descriptions_ != nullptr) {
        descriptions_->record_configured(registry_.find(draft.spec.use)->path, *draft.runner,
                                         draft.spec.values);
      }
      draft.sound = true;
    } catch (const Error& error) {
      findings_.error("configure", draft.spec.place,
                      fmt::format("{} refuses its parameters: {}", described(draft), error.what()));
    }
  }

  /// Where what is there may be a record that does not know these values, makes the stage itself.
  bool make_real(StageDraft& draft, const Entry& use) {
    const std::filesystem::path& plugin = registry_.find(draft.spec.use)->path;
    if (descriptions_->knows(plugin, draft.spec.use, draft.spec.values)) return true;
    try {
      draft.runner = registry_.make(draft.spec.use, draft.spec.name);
      return true;
    } catch (const Error& error) {
      refuse_type(use, draft.spec.use, error);
      return false;
    }
  }

  Registry& registry_;
  DescriptionCache* descriptions_;  // none: plugins are loaded
  Findings& findings_;
  std::set<std::string> told_;
};

/// Follows references from each stage; reports every circle once, at its first stage.
class CircleFinder {
 public:
  CircleFinder(const std::vector<StageDraft>& stages, Findings& findings)
      : stages_(stages), findings_(findings) {}

  void find() {
    for (const StageDraft& stage : stages_) visit(stage);
  }

 private:
  void visit(const StageDraft& stage) {
    const auto on_path = std::find(path_.begin(), path_.end(), &stage);
    if (on_path != path_.end()) return;  // reported by who refers to it
    if (!visited_.insert(&stage).second) return;
    path_.push_back(&stage);
    for (const auto& [parameter, target] : stage.spec.references) {
      const StageDraft* next = find_stage(stages_, target);
      if (next == nullptr) continue;
      const auto start = std::find(path_.begin(), path_.end(), next);
      if (start != path_.end()) {
        report(stage, parameter, start);
      } else {
        visit(*next);
      }
    }
    path_.pop_back();
  }

  void report(const StageDraft& stage, const std::string& parameter,
              std::vector<const StageDraft*>::const_iterator start) {
    std::string circle;
    for (auto step = start; step != path_.cend(); ++step) circle += (*step)->spec.name + " -> ";
    findings_.error("reference-cycle", stage.reference_nodes.at(parameter).place,
                    fmt::format("stage '{}' refers to itself", (*start)->spec.name) +
                        (path_.cend() - start > 1 ? " through others" : ""),
                    {circle + (*start)->spec.name});
  }

  const std::vector<StageDraft>& stages_;
  Findings& findings_;
  std::vector<const StageDraft*> path_;
  std::set<const StageDraft*> visited_;
};

}  // namespace

std::vector<StageDraft> read_stages(const Table& tree, Registry& registry,
                                    DescriptionCache* descriptions, Findings& findings) {
  std::vector<StageDraft> stages;
  const Entry* entry = tree.find("stage");
  const Table* table = entry != nullptr ? read_table(*entry, "[stage]", findings) : nullptr;
  if (table == nullptr) return stages;
  std::vector<std::string> defined;
  for (const Entry& stage : table->entries) {
    if (stage.key_place.file != "--set") defined.push_back(stage.key);
  }
  StageReader reader(registry, descriptions, findings);
  for (const Entry& stage : table->entries) {
    const bool only_set = std::find(defined.begin(), defined.end(), stage.key) == defined.end();
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

void check_references(const std::vector<StageDraft>& stages, Findings& findings) {
  for (const StageDraft& stage : stages) {
    if (stage.runner == nullptr) continue;
    for (const ParameterInfo& parameter : stage.runner->description().parameters) {
      if (parameter.kind != ValueKind::reference) continue;
      std::vector<std::string> offering;
      for (const StageDraft& other : stages) {
        if (other.runner != nullptr && other.runner->interface(parameter.interface) != nullptr) {
          offering.push_back(other.spec.name);
        }
      }
      const std::string offered =
          offering.empty() ? "no stage of this file offers " + parameter.interface : "stages that offer it: " + enumerated(offering);
      const auto written = stage.spec.references.find(parameter.name);
      if (written == stage.spec.references.end()) {
        if (!parameter.required || stage.faulty.contains(parameter.name)) continue;
        findings.error(
            "missing-parameter", stage.spec.place,
            fmt::format("{} needs '{}': {}", described(stage), parameter.name, parameter.doc),
            {"it takes " + accepted_by(parameter), offered});
        continue;
      }
      const Place& place = stage.reference_nodes.at(parameter.name).place;
      const StageDraft* target = find_stage(stages, written->second);
      if (target == nullptr) {
        findings.error("unknown-reference", place,
                       fmt::format("there is no stage '{}' for '{}' to refer to", written->second,
                                   parameter.name),
                       {did_you_mean(written->second, names_of(stages)), offered});
      } else if (target->runner != nullptr &&
                 target->runner->interface(parameter.interface) == nullptr) {
        findings.error("wrong-reference", place,
                       fmt::format("'{}' needs a stage that offers {}, which {} does not",
                                   parameter.name, parameter.interface, described(*target)),
                       {offered});
      }
    }
  }
  CircleFinder(stages, findings).find();
}

void bind_references(const std::vector<StageDraft>& stages) {
  for (const StageDraft& stage : stages) {
    for (const ParameterInfo& parameter : stage.runner->description().parameters) {
      const auto written = stage.spec.references.find(parameter.name);
      if (written == stage.spec.references.end()) continue;
      const StageDraft* target = find_stage(stages, written->second);
      stage.runner->bind(parameter.name, target->runner->interface(parameter.interface));
    }
  }
}

const StageDraft* find_stage(const std::vector<StageDraft>& stages, std::string_view name) {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const StageDraft& stage) { return stage.spec.name == name; });
  return found == stages.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const std::vector<StageDraft>& stages) {
  std::vector<std::string> names;
  names.reserve(stages.size());
  for (const StageDraft& stage : stages) names.push_back(stage.spec.name);
  return names;
}

std::string described(const StageDraft& stage) {
  if (stage.spec.use.empty()) return fmt::format("stage '{}'", stage.spec.name);
  return fmt::format("stage '{}' ({})", stage.spec.name, stage.spec.use);
}

bool is_list(ValueKind kind) {
  return kind == ValueKind::integers || kind == ValueKind::numbers || kind == ValueKind::texts ||
         kind == ValueKind::enumerations;
}

std::string kind_text(StageKind kind) {
  switch (kind) {
    case StageKind::source:
      return "a source";
    case StageKind::transform:
      return "a transform";
    case StageKind::parallel_transform:
      return "a parallel transform";
    case StageKind::collector:
      return "a collector";
    case StageKind::sink:
      return "a sink";
  }
  return "a stage";
}

}  // namespace seam::host
