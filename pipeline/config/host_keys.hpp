/// The keys of a pipeline file that are the host's own, each declared once, as a stage declares its
/// parameters. All else follows from that:
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

/// A number of packets, or a share of them: `max_errors`.
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
/// { metric = "stage.metric", ... }: `stop_early`.
struct StopRule {
  std::optional<StopEarly>* rule;
};
/// 5 (epochs) or { epochs = 5, steps = 500, minutes = 10 }: `checkpoint_every`.
struct CheckpointRule {
  CheckpointEvery* rule;
};
/// true, false or { histograms = ["model.*"] }: `tensorboard`.
struct EventFileRule {
  std::optional<TensorBoardSpec>* rule;
};
/// 3 (the newest) or { best = "stage.metric", last = 3 }: `keep`.
struct KeptCheckpoints {
  KeepRule* rule;
};
/// What a file can write that is no single Value. Who visits this handles every form, or does not
/// compile.
using CompoundForm = std::variant<CountOrShare, ErrorPolicy, FlowTurns, StopRule, CheckpointRule,
                                  EventFileRule, KeptCheckpoints>;

/// A table of keys, bound to the members of a spec that outlives it.
class HostTable {
 public:
  /// `name` is how messages call it: "[limits]", "'stop_early'".
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
  /// There is no sensible default for the key just declared. ParameterBuilder::required() would
  /// forget what the member holds.
  void is_required() { declaration_.description().parameters.back().required = true; }
  /// The key just declared stands for others: they are in the resolved text in its place.
  void is_shorthand() { shorthands_.insert(keys().back().name); }
  /// How documents call a key's default where its value says nothing: "the file's name".
  void default_is(std::string text) { defaults_[keys().back().name] = std::move(text); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& doc() const { return doc_; }
  /// In the order of documents; default_value is what the member holds.
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

 private:
  std::string name_;
  std::string doc_;
  Declaration declaration_;
  std::map<std::string, CompoundForm> compounds_;
  std::map<std::string, std::string> defaults_;
  std::set<std::string> shorthands_;
};

/// Keys whose unit this is take "512 MiB" as well.
inline constexpr std::string_view bytes_unit = "bytes";

/// Reads what stands in the table into the members; what is wrong is reported, and its member keeps
/// its value. Keys that are not declared are refused.
void read_keys(const HostTable& host, const Table& table, Findings& findings);
/// One of them; whether it was read. `owner` is whose key messages call it.
bool read_key(const HostTable& host, const Entry& entry, const std::string& owner,
              Findings& findings);

/// A line a key, as they stand in a TOML file: "packets = 256  # default". `defaults` is the table
/// of a fresh spec.
std::string written_keys(const HostTable& host, const HostTable& defaults);
/// A value as it stands in a pipeline file, where a dollar sign is doubled or it would be read as a
/// variable.
std::string written(const Value& value);

/// The table of documents: | key | default | |.
std::string keys_markdown(const HostTable& host);

}  // namespace seam::host
