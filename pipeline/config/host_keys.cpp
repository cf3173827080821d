#include "pipeline/config/host_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/config/host_tables.hpp"
#include "pipeline/config/parameter_value.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

constexpr const char* error_policies = "\"fail\", \"skip\" or { retry = 3 }";

/// Reads a key's value in one of the forms; returns whether it is valid.
struct CompoundReader {
  const Entry& entry;
  const std::string& owner;
  Findings& findings;

  bool operator()(const CountOrShare& form) const {
    if (const auto* share = std::get_if<double>(&entry.node.value)) {
      if (*share > 0 && *share < 1) {
        *form.share = *share;
        form.count->reset();
        return true;
      }
      findings.error(
          "range", entry.node.place,
          fmt::format(
              "'{}' of {} takes a number of packets, or a fraction of them between 0 and 1, not {}",
              entry.key, owner, seam::to_text(Value{*share})));
      return false;
    }
    const auto count = read_integer(entry, owner, 0, findings);
    if (!count) return false;
    *form.count = count;
    form.share->reset();
    return true;
  }

  bool operator()(const ErrorPolicy& form) const {
    const std::string accepted = fmt::format("'{}' is {}", entry.key, error_policies);
    if (const std::string* text = entry.node.text()) {
      if (*text != "fail" && *text != "skip") {
        findings.error("choice", entry.node.place, fmt::format("{}, not \"{}\"", accepted, *text),
                       {did_you_mean(*text, {"fail", "skip"})});
        return false;
      }
      *form.policy = *text == "skip" ? OnError::skip : OnError::fail;
      *form.retries = 0;
      return true;
    }
    const Table* table = entry.node.table();
    if (table == nullptr || table->entries.empty()) {
      findings.error("type", entry.node.place, accepted + ", not " + kind_of(entry.node));
      return false;
    }
    int retries = 0;
    if (!read_inner(retry_table(retries), *table)) return false;
    *form.policy = OnError::retry;
    *form.retries = retries;
    return true;
  }

  bool operator()(const FlowTurns& form) const {
    const Array single{entry.node};  // a single flow needs no brackets
    std::vector<ScheduledFlow> turns;
    bool sound = true;
    for (const Node& element : entry.node.array() != nullptr ? *entry.node.array() : single) {
      if (element.broken) {
        sound = false;
      } else if (const std::string* flow = element.text()) {
        turns.push_back({*flow, 1});
      } else if (const Table* table = element.table()) {
        ScheduledFlow turn;
        const HostTable keys = turn_table(turn);
        sound = read_inner(keys, *table) && sound;
        if (table->find("flow") == nullptr) {
          findings.error("missing-key", element.place, keys.name() + " has no 'flow'");
          sound = false;
        }
        turns.push_back(std::move(turn));
      } else {
        findings.error("type", element.place,
                       fmt::format("'{}' of {} lists flows, \"train\" or {{ flow = \"evaluate\", "
                                   "every = 5 }}, not {}",
                                   entry.key, owner, kind_of(element)));
        sound = false;
      }
    }
    if (sound) *form.turns = std::move(turns);
    return sound;
  }

  bool operator()(const StopRule& form) const {
    // Written in a file that extends another, to have none.
    if (const bool* given = std::get_if<bool>(&entry.node.value); given != nullptr && !*given) {
      form.rule->reset();
      return true;
    }
    const Table* table = read_table(entry, "'" + entry.key + "'", findings);
    if (table == nullptr) return false;
    StopEarly rule;
    bool sound = read_inner(stop_early_table(rule), *table);
    if (table->find("metric") == nullptr) {
      findings.error("missing-key", entry.key_place, fmt::format("'{}' has no 'metric'", entry.key),
                     {"write { metric = \"STAGE.METRIC\", patience = 7 }"});
      sound = false;
    }
    if (sound) *form.rule = std::move(rule);
    return sound;
  }

  bool operator()(const CheckpointRule& form) const {
    CheckpointEvery rule;
    if (std::holds_alternative<std::int64_t>(entry.node.value)) {
      const auto epochs = read_integer(entry, owner, 1, findings);
      if (!epochs) return false;
      rule.epochs = *epochs;
    } else {
      const Table* table = entry.node.table();
      if (table == nullptr || table->entries.empty()) {
        findings.error("type", entry.node.place,
                       fmt::format("'{}' of {} takes a number of epochs, or {{ steps = 500 }} or "
                                   "{{ minutes = 10 }}, not {}",
                                   entry.key, owner, kind_of(entry.node)));
        return false;
      }
      if (!read_inner(checkpoint_table(rule), *table)) return false;
    }
    *form.rule = rule;
    return true;
  }

  bool operator()(const EventFileRule& form) const {
    if (const bool* given = std::get_if<bool>(&entry.node.value)) {
      form.rule->reset();
      if (*given) form.rule->emplace();
      return true;
    }
    const Table* table = entry.node.table();
    if (table == nullptr || table->entries.empty()) {
      findings.error(
          "type", entry.node.place,
          fmt::format("'{}' of {} takes true, false or {{ histograms = [\"model.*\"] }}, "
                      "not {}",
                      entry.key, owner, kind_of(entry.node)));
      return false;
    }
    TensorBoardSpec rule;
    if (!read_inner(tensorboard_table(rule), *table)) return false;
    *form.rule = std::move(rule);
    return true;
  }

  bool operator()(const KeptCheckpoints& form) const {
    KeepRule rule;
    if (std::holds_alternative<std::int64_t>(entry.node.value)) {
      const auto last = read_integer(entry, owner, 1, findings);
      if (!last) return false;
      rule.last = *last;
    } else {
      const Table* table = entry.node.table();
      if (table == nullptr || table->entries.empty()) {
        findings.error("type", entry.node.place,
                       fmt::format("'{}' of {} takes a number of checkpoints, or {{ best = "
                                   "\"STAGE.METRIC\", last = 2 }}, not {}",
                                   entry.key, owner, kind_of(entry.node)));
        return false;
      }
      if (!read_inner(keep_table(rule), *table)) return false;
    }
    *form.rule = std::move(rule);
    return true;
  }

 private:
  [[nodiscard]] bool read_inner(const HostTable& keys, const Table& table) const {
    const std::size_t before = findings.errors();
    read_keys(keys, table, findings);
    const bool broken =
        std::ranges::any_of(table.entries, [](const Entry& key) { return key.node.broken; });
    return findings.errors() == before && !broken;
  }
};

/// "{ flow = "evaluate", every = 5 }"
std::string inline_table(const HostTable& host) {
  std::string text;
  for (const ParameterInfo& key : host.keys()) {
    if (!key.default_value) continue;
    text += (text.empty() ? "" : ", ") + key.name + " = " + written(*key.default_value);
  }
  return "{ " + text + " }";
}

/// The value as written in a file; empty if it is not set.
struct CompoundWriter {
  std::string operator()(const CountOrShare& form) const {
    if (*form.count) return written(Value{**form.count});
    if (*form.share) return written(Value{**form.share});
    return {};
  }
  std::string operator()(const ErrorPolicy& form) const {
    switch (*form.policy) {
      case OnError::fail:
        return "\"fail\"";
      case OnError::skip:
        return "\"skip\"";
      case OnError::retry:
        break;
    }
    return inline_table(retry_table(*form.retries));
  }
  std::string operator()(const FlowTurns& form) const {
    std::string text;
    for (ScheduledFlow& turn : *form.turns) {
      if (!text.empty()) text += ", ";
      text += turn.every == 1 ? written(Value{turn.flow}) : inline_table(turn_table(turn));
    }
    return "[" + text + "]";
  }
  std::string operator()(const StopRule& form) const {
    return *form.rule ? inline_table(stop_early_table(**form.rule)) : std::string();
  }
  std::string operator()(const CheckpointRule& form) const {
    const bool plain = !form.rule->steps && !form.rule->minutes;
    return plain ? written(Value{form.rule->epochs}) : inline_table(checkpoint_table(*form.rule));
  }
  std::string operator()(const EventFileRule& form) const {
    if (!*form.rule) return {};
    return (*form.rule)->histograms.empty() ? "true" : inline_table(tensorboard_table(**form.rule));
  }
  std::string operator()(const KeptCheckpoints& form) const {
    const bool plain = form.rule->best.empty();
    return plain ? written(Value{form.rule->last}) : inline_table(keep_table(*form.rule));
  }
};

std::string written_key(const HostTable& host, const ParameterInfo& key) {
  if (const CompoundForm* form = host.compound(key.name)) {
    return std::visit(CompoundWriter{}, *form);
  }
  return key.default_value ? written(*key.default_value) : std::string();
}

}  // namespace

void HostTable::key(std::string name, CompoundForm form, std::string doc) {
  ParameterInfo& info = declaration_.description().parameters.emplace_back();
  info.name = std::move(name);
  info.doc = std::move(doc);
  compounds_.emplace(info.name, form);
}

const ParameterInfo* HostTable::find(std::string_view key) const {
  const auto found = std::ranges::find(keys(), key, &ParameterInfo::name);
  return found == keys().end() ? nullptr : &*found;
}

std::vector<std::string> HostTable::names() const {
  std::vector<std::string> names;
  for (const ParameterInfo& key : keys()) names.push_back(key.name);
  return names;
}

const CompoundForm* HostTable::compound(const std::string& key) const {
  const auto found = compounds_.find(key);
  return found == compounds_.end() ? nullptr : &found->second;
}

const std::string* HostTable::default_text(const std::string& key) const {
  const auto found = defaults_.find(key);
  return found == defaults_.end() ? nullptr : &found->second;
}

void read_keys(const HostTable& host, const Table& table, Findings& findings) {
  refuse_unknown_keys(table, host.name(), host.names(), findings);
  for (const Entry& entry : table.entries) {
    if (host.find(entry.key) != nullptr) read_key(host, entry, host.name(), findings);
  }
}

bool read_key(const HostTable& host, const Entry& entry, const std::string& owner,
              Findings& findings) {
  if (entry.node.broken) return false;
  if (const CompoundForm* form = host.compound(entry.key)) {
    return std::visit(CompoundReader{entry, owner, findings}, *form);
  }
  const ParameterInfo& key = *host.find(entry.key);
  if (key.unit == bytes_unit) {
    const auto bytes = read_bytes(entry, owner, findings);
    if (bytes) key.assign(Value{*bytes});
    return bytes.has_value();
  }
  const auto value = read_parameter_value(entry, key, owner, findings);
  if (value) key.assign(*value);
  return value.has_value();
}

std::string written_keys(const HostTable& host, const HostTable& defaults) {
  std::string text;
  for (const ParameterInfo& key : host.keys()) {
    if (host.is_shorthand(key.name)) continue;
    const std::string value = written_key(host, key);
    if (value.empty()) {
      text += fmt::format("# {}: not set\n", key.name);
    } else {
      const bool is_default = value == written_key(defaults, *defaults.find(key.name));
      text += fmt::format("{} = {}{}\n", key.name, value, is_default ? "  # default" : "");
    }
  }
  return text;
}

std::string written(const Value& value) {
  std::string text;
  for (const char c : seam::to_text(value)) {
    text += c;
    if (c == '$') text += c;
  }
  return text;
}

std::string keys_markdown(const HostTable& host) {
  std::string text = "| key | default | |\n|---|---|---|\n";
  for (const ParameterInfo& key : host.keys()) {
    const std::string value = written_key(host, key);
    const std::string* said = host.default_text(key.name);
    const std::string shown = said != nullptr ? *said
                              : key.required  ? "required"
                              : value.empty() ? "not set"
                                              : "`" + value + "`";
    text += fmt::format("| `{}` | {} | {} |\n", key.name, shown, key.doc);
  }
  return text;
}

}  // namespace seam::host
