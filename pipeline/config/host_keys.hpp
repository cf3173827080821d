/// The host's own keys of a pipeline file, each declared once, like a stage's parameters.
/// Everything else is derived from that:
///
///     limits_table(spec.limits) ──► HostTable ──┬ read_keys        the file's values, checked
///     (host_tables.hpp)                         ├ written_keys     resolved.toml
///                                               ├ keys_markdown    docs/pipeline-files.md
///                                               └ pipeline/cli/schema.cpp
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "seam/declaration.hpp"

namespace seam::host {

/// A number of packets, or a fraction of them: `max_errors`.
struct CountOrShare {
  std::optional<std::int64_t>* count;
  std::optional<double>* share;
};
/// "fail", "skip" or { retry = n }: `on_error`.
struct ErrorPolicy {
  OnError* policy;
  int* retries;
};
/// Flows, each "train" or { flow = "evaluate", every = 5 }: `each_epoch`.
struct FlowTurns {
  std::vector<ScheduledFlow>* turns;
};
class HostTable;

/// What may be written instead of an inner table.
enum class Short : std::uint8_t {
  off,    ///< false: no rule
  flag,   ///< true: the table's defaults, false: no rule
  count,  ///< a number: the value of one of the table's keys
};
template <class Rule>
struct RuleIn {
  using Type = Rule;
};
template <class Rule>
struct RuleIn<std::optional<Rule>> {
  using Type = Rule;
};
/// An inner table, or something short for it: 3, or { best = "stage.metric", last = 3 }. `Member`
/// is the type of the rule that the table sets; an optional one without a rule is unset.
template <class Member>
struct ShortOrTable {
  using Rule = typename RuleIn<Member>::Type;

  Member* member;
  HostTable (*table)(Rule& rule);
  Short brief;
  std::string_view key;       ///< for which a count is short
  std::string_view accepted;  ///< for messages
};
/// Keys whose value is not a single Value. A visitor must handle every form, or it does not
/// compile.
using CompoundForm =
    std::variant<CountOrShare, ErrorPolicy, FlowTurns, ShortOrTable<std::optional<StopEarly>>,
                 ShortOrTable<CheckpointEvery>, ShortOrTable<std::optional<TensorBoardSpec>>,
                 ShortOrTable<KeepRule>>;

/// A table of keys, bound to the members of a spec that outlives it.
class HostTable {
 public:
  /// `name` is its name in messages: "[limits]", "'stop_early'".
  HostTable(std::string name, std::string doc) : name_(std::move(name)), doc_(std::move(doc)) {}

  template <class T>
  ParameterBuilder key(std::string name, T& member, std::string doc) {
    return declaration_.parameter(std::move(name), member, std::move(doc));
  }
  template <class E>
  ParameterBuilder key(std::string name, E& member, std::string doc, Choices<E> choices) {
    return declaration_.parameter(std::move(name), member, std::move(doc), choices);
  }
  void key(std::string name, CompoundForm form, std::string doc);
  /// Makes the key just declared required. ParameterBuilder::required() would discard the member's
  /// value.
  void is_required() { declaration_.description().parameters.back().required = true; }
  /// The key just declared is an abbreviation of other keys, which replace it in the resolved text.
  void is_shorthand() { shorthands_.insert(keys().back().name); }
  /// Description of a key's default in documents, if its value is not meaningful: "the file's
  /// name".
  void default_is(std::string text) { defaults_[keys().back().name] = std::move(text); }
  /// The key just declared is a comment in the resolved text if it has its default, so that runs
  /// from before the key existed have the same keys.
  void default_is_comment() { commented_.insert(keys().back().name); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& doc() const { return doc_; }
  /// In the order of the documents; default_value is the member's value.
  [[nodiscard]] const std::vector<ParameterInfo>& keys() const {
    return declaration_.description().parameters;
  }
  [[nodiscard]] const ParameterInfo* find(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// Null for a key that takes a single Value.
  [[nodiscard]] const CompoundForm* compound(const std::string& key) const;
  [[nodiscard]] const std::string* default_text(const std::string& key) const;
  [[nodiscard]] bool is_shorthand(const std::string& key) const {
    return shorthands_.contains(key);
  }
  [[nodiscard]] bool is_commented(const std::string& key) const { return commented_.contains(key); }

 private:
  std::string name_;
  std::string doc_;
  Declaration declaration_;
  std::map<std::string, CompoundForm> compounds_;
  std::map<std::string, std::string> defaults_;
  std::set<std::string> shorthands_;
  std::set<std::string> commented_;
};

/// Keys whose unit this is take "512 MiB" as well.
inline constexpr std::string_view bytes_unit = "bytes";

/// Reads the table into the members. Errors are reported and leave the member unchanged. Undeclared
/// keys are rejected.
void read_keys(const HostTable& host, const Table& table, Findings& findings);
/// Reads one key; returns whether that succeeded. `owner` is the owner of the key in messages.
bool read_key(const HostTable& host, const Entry& entry, const std::string& owner,
              Findings& findings);

/// One line per key as in a TOML file: "packets = 256  # default". `defaults` is the table of a new
/// spec.
std::string written_keys(const HostTable& host, const HostTable& defaults);
/// A value as written in a pipeline file, with dollar signs doubled, because a single one begins a
/// variable.
std::string written(const Value& value);

/// The table of documents: | key | default | |.
std::string keys_markdown(const HostTable& host);

}  // namespace seam::host
