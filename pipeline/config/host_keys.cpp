#include "pipeline/config/host_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "pipeline/config/host_tables.hpp"
#include "pipeline/config/parameter_value.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"

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
    if (!read_inner(retry_table(retries), *table, entry.key_place)) return false;
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
        sound = read_inner(turn_table(turn), *table, element.place) && sound;
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

  template <class Member>
  bool operator()(const ShortOrTable<Member>& form) const {
    typename ShortOrTable<Member>::Rule rule;
    const HostTable keys = form.table(rule);
    if (const bool* flag = std::get_if<bool>(&entry.node.value);
        flag != nullptr && (form.brief == Short::flag || (form.brief == Short::off && !*flag))) {
      *form.member = *flag ? Member(rule) : Member();
      return true;
    }
    const Table* table = entry.node.table();
    if (form.brief == Short::count && std::holds_alternative<std::int64_t>(entry.node.value)) {
      const auto count = read_integer(entry, owner, 1, findings);
      if (!count) return false;
      keys.find(form.key)->assign(Value{*count});
    } else if (form.brief == Short::off && table == nullptr) {
      read_table(entry, keys.name(), findings);
      return false;
    } else if (form.brief != Short::off && (table == nullptr || table->entries.empty())) {
      findings.error("type", entry.node.place,
                     fmt::format("'{}' of {} takes {}, not {}", entry.key, owner, form.accepted,
                                 kind_of(entry.node)));
      return false;
    } else if (!read_inner(keys, *table, entry.key_place, "write " + std::string(form.accepted))) {
      return false;
    }
    *form.member = std::move(rule);
    return true;
  }

 private:
  /// `place` and `hint` are those of a report that a required key is missing.
  [[nodiscard]] bool read_inner(const HostTable& keys, const Table& table, const Place& place,
                                const std::string& hint = {}) const {
    const std::size_t before = findings.errors();
    read_keys(keys, table, findings);
    for (const ParameterInfo& key : keys.keys()) {
      if (!key.required || table.find(key.name) != nullptr) continue;
      findings.error("missing-key", place, fmt::format("{} has no '{}'", keys.name(), key.name),
                     {hint});
    }
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
  template <class Member>
  std::string operator()(const ShortOrTable<Member>& form) const {
    using Rule = typename ShortOrTable<Member>::Rule;
    Rule rule;
    if constexpr (std::is_same_v<Rule, Member>) {
      rule = *form.member;
    } else {
      if (!*form.member) return {};
      rule = **form.member;
    }
    Rule usual;
    const HostTable keys = form.table(rule);
    const HostTable defaults = form.table(usual);
    const bool is_short = std::ranges::equal(
        keys.keys(), defaults.keys(), [&](const ParameterInfo& key, const ParameterInfo& other) {
          return key.name == form.key || key.default_value == other.default_value;
        });
    if (form.brief == Short::off || !is_short) return inline_table(keys);
    return form.brief == Short::flag ? "true" : written(*keys.find(form.key)->default_value);
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
  return find_in(keys(), key, &ParameterInfo::name);
}

std::vector<std::string> HostTable::names() const {
  return mapped(keys(), &ParameterInfo::name);
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
      text += fmt::format("{}{} = {}{}\n", is_default && host.is_commented(key.name) ? "# " : "",
                          key.name, value, is_default ? "  # default" : "");
    }
  }
  return text;
}

std::string written(const Value& value) {
  return replaced(seam::to_text(value), "$", "$$");
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
