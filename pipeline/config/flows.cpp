#include "pipeline/config/flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <seam/contract.hpp>
#include <seam/error.hpp>
#include <seam/field.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "pipeline/config/flow_text.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

/// For each node the positions of those after it.
std::vector<std::vector<std::size_t>> outputs_of(const FlowSpec& flow) {
  std::vector<std::vector<std::size_t>> outputs(flow.nodes.size());
  for (std::size_t node = 0; node < flow.nodes.size(); ++node) {
    for (const std::size_t input : flow.nodes[node].inputs) outputs[input].push_back(node);
  }
  return outputs;
}

/// For each node itself and all nodes before it.
std::vector<std::set<std::size_t>> ancestors_of(const FlowSpec& flow) {
  std::vector<std::set<std::size_t>> ancestors(flow.nodes.size());
  for (std::size_t node = 0; node < flow.nodes.size(); ++node) {
    ancestors[node].insert(node);
    for (const std::size_t input : flow.nodes[node].inputs) {
      ancestors[node].insert(ancestors[input].begin(), ancestors[input].end());
    }
  }
  return ancestors;
}

class ShapeCheck {
 public:
  ShapeCheck(const FlowSpec& flow, const std::vector<StageDraft>& stages, const Paths& paths,
             Findings& findings)
      : flow_(flow), stages_(stages), paths_(paths), findings_(findings) {}

  void check() {
    const auto outputs = outputs_of(flow_);
    for (std::size_t at = 0; at < flow_.nodes.size(); ++at) {
      const FlowNode& node = flow_.nodes[at];
      const StageDraft* stage = find_stage(stages_, node.stage);
      if (stage == nullptr) {
        report_unknown_name(node.stage, node.place, paths_.known_names(), findings_);
      } else if (stage->runner != nullptr) {
        check_node(node, *stage, outputs[at]);
      }
    }
    check_joins();
  }

 private:
  void check_node(const FlowNode& node, const StageDraft& stage,
                  const std::vector<std::size_t>& outputs) {
    const StageKind kind = stage.runner->kind();
    const bool head = node.inputs.empty();
    if (head && kind != StageKind::source) {
      findings_.error("flow-head", node.place,
                      fmt::format("flow '{}' begins with {}, which is {}; a flow begins with a "
                                  "source",
                                  flow_.name, described(stage), kind_text(kind)),
                      {sources_of_file(), path_note(flow_, node)});
    } else if (!head && kind == StageKind::source) {
      findings_.error("source-inside", node.place,
                      fmt::format("{} is a source and can only begin a flow", described(stage)),
                      {"put it into a separate flow", path_note(flow_, node)});
    }
    if (kind == StageKind::sink && !outputs.empty()) {
      findings_.error(
          "sink-inside", node.place,
          fmt::format("{} is a sink: nothing can follow it", described(stage)),
          {fmt::format("'{}' comes after it; move the sink to the end or into a branch: "
                       "{{{}, ...}}",
                       flow_.nodes[outputs.front()].stage, node.stage),
           path_note(flow_, node)});
    }
  }

  /// A collector emits different packets from those it receives, so a join would wait for packets
  /// that never come.
  void check_joins() {
    const auto ancestors = ancestors_of(flow_);
    std::set<std::size_t> reported;
    for (const FlowNode& join : flow_.nodes) {
      if (join.inputs.size() < 2) continue;
      for (const std::size_t input : join.inputs) {
        for (const std::size_t node : ancestors[input]) {
          const bool shared =
              std::all_of(join.inputs.begin(), join.inputs.end(),
                          [&](std::size_t other) { return ancestors[other].contains(node); });
          const StageDraft* stage = find_stage(stages_, flow_.nodes[node].stage);
          const bool collector = stage != nullptr && stage->runner != nullptr &&
                                 stage->runner->kind() == StageKind::collector;
          if (shared || !collector || !reported.insert(node).second) continue;
          findings_.error("collector-in-branch", flow_.nodes[node].place,
                          fmt::format("{} is a collector inside a branch that '{}' joins: the "
                                      "packets it makes have no counterpart in the other branches",
                                      described(*stage), join.stage),
                          {"put it before the branches or after the join",
                           path_note(flow_, flow_.nodes[node])});
        }
      }
    }
  }

  [[nodiscard]] std::string sources_of_file() const {
    std::vector<std::string> names;
    for (const StageDraft& stage : stages_) {
      if (stage.runner != nullptr && stage.runner->kind() == StageKind::source) {
        names.push_back(stage.spec.name);
      }
    }
    return names.empty() ? "this file has no source" : "sources of this file: " + enumerated(names);
  }

  const FlowSpec& flow_;
  const std::vector<StageDraft>& stages_;
  const Paths& paths_;
  Findings& findings_;
};

/// The known properties of a field at a point of a flow.
struct Provided {
  std::string type;
  std::string contract;
  std::size_t node = 0;  ///< who provided it last
  std::string doc;
  std::string gathered_type = {};  ///< as FieldInfo's
  std::string gathered_contract = {};
  std::vector<std::string> values = {};
};

/// The fields after a node.
struct FieldState {
  std::map<std::string, Provided> fields;
  bool anything = false;  ///< an unknown earlier stage may have provided or changed any field
};

class FieldCheck {
 public:
  FieldCheck(const FlowSpec& flow, const std::vector<StageDraft>& stages, Findings& findings)
      : flow_(flow), stages_(stages), findings_(findings), ancestors_(ancestors_of(flow)) {}

  void check() {
    for (std::size_t at = 0; at < flow_.nodes.size(); ++at) {
      const StageDraft& stage = stage_at(at);
      FieldState state = joined(at);
      if (!stage.sound) {
        state.anything = true;
      } else {
        const Description& description = stage.runner->description();
        for (const FieldInfo& field : description.needs) check_need(at, field, state, true);
        for (const FieldInfo& field : description.accepts) check_need(at, field, state, false);
        std::vector<FieldInfo> provided = description.provides;
        const bool all_known = gather(at, state, provided);
        for (FieldInfo& field : provided) {
          const auto of = state.fields.find(field.values_of);
          if (of != state.fields.end()) field.values = of->second.values;
          if (state.anything && !field.values_of.empty()) field.values.clear();
        }
        if (description.replaces_packets) state = FieldState();
        if (!all_known) state.anything = true;
        for (const FieldInfo& field : provided) {
          if (check_type(at, field)) check_overwriting(at, field, state);
          state.fields[field.name] = {field.type,  field.contract,      at,
                                      field.doc,   field.gathered_type, field.gathered_contract,
                                      field.values};
        }
      }
      states_.push_back(std::move(state));
    }
  }

 private:
  [[nodiscard]] const StageDraft& stage_at(std::size_t node) const {
    return *find_stage(stages_, flow_.nodes[node].stage);
  }

  void report(std::string code, std::size_t at, std::string message,
              std::vector<std::string> notes = {}) {
    const FlowNode& node = flow_.nodes[at];
    notes.push_back(path_note(flow_, node));
    findings_.error(std::move(code), node.place, std::move(message), std::move(notes));
  }

  /// Adds the fields that a collector gathers from fields of any type; false if one is unknown.
  bool gather(std::size_t at, const FieldState& state, std::vector<FieldInfo>& provided) {
    bool all_known = true;
    for (const GatheredField& gathers : stage_at(at).runner->description().gathers) {
      const auto found = state.fields.find(gathers.from);
      if (found == state.fields.end() || mistyped_.contains(gathers.from)) {
        all_known = false;
        if (found != state.fields.end() || state.anything) continue;
        FieldInfo need;
        need.name = gathers.from;
        report_missing(at, need, state);
        continue;
      }
      const Provided& one = found->second;
      try {
        provided.push_back(gathered({gathers.from, one.type, one.contract, one.doc,
                                     one.gathered_type, one.gathered_contract},
                                    gathers.name));
      } catch (const Error& error) {
        all_known = false;
        report(
            "field-gathered", at, fmt::format("{}: {}", described(stage_at(at)), error.what()),
            {fmt::format("'{}' is provided by {}", gathers.from, described(stage_at(one.node)))});
      }
    }
    return all_known;
  }

  /// The fields before a node. If one branch changed a field, the changed one is kept.
  FieldState joined(std::size_t at) {
    const std::vector<std::size_t>& inputs = flow_.nodes[at].inputs;
    FieldState state;
    for (const std::size_t input : inputs) {
      const FieldState& branch = states_[input];
      state.anything = state.anything || branch.anything;
      for (const auto& [name, field] : branch.fields) {
        const auto [known, first] = state.fields.emplace(name, field);
        if (first || known->second.node == field.node) continue;
        const bool ours_before = before_all(known->second.node, inputs) ||
                                 ancestors_[field.node].contains(known->second.node);
        const bool theirs_before =
            before_all(field.node, inputs) || ancestors_[known->second.node].contains(field.node);
        if (!ours_before && !theirs_before) report_conflict(at, name, known->second, field);
        if (ours_before) known->second = field;
      }
    }
    return state;
  }

  [[nodiscard]] bool before_all(std::size_t node, const std::vector<std::size_t>& inputs) const {
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](std::size_t input) { return ancestors_[input].contains(node); });
  }

  void report_conflict(std::size_t at, const std::string& field, const Provided& a,
                       const Provided& b) {
    const auto key = std::tuple(field, a.node, b.node);
    if (!conflicts_.insert(key).second) return;
    report("join-conflict", b.node,
           fmt::format("two branches that '{}' joins both provide '{}': {} and {}",
                       flow_.nodes[at].stage, field, described(stage_at(a.node)),
                       described(stage_at(b.node))),
           {conflict_remedy(field, a.node, b.node)});
  }

  /// Running them in sequence helps only if the second one builds on the result of the first.
  [[nodiscard]] std::string conflict_remedy(const std::string& field, std::size_t a,
                                            std::size_t b) const {
    const bool a_reads = reads(a, field);
    const bool b_reads = reads(b, field);
    if (a_reads && b_reads)
      return "run them in sequence, or have one of them provide a different field";
    if (a_reads || b_reads) {
      return fmt::format("run '{}' after '{}', or have one of them provide a different field",
                         flow_.nodes[a_reads ? a : b].stage, flow_.nodes[a_reads ? b : a].stage);
    }
    return "remove one, or have one provide a different field; running them in sequence does not "
           "help, because neither reads the field and the second would overwrite the first";
  }

  /// Whether a stage builds on the existing value.
  [[nodiscard]] bool reads(std::size_t node, const std::string& field) const {
    const Description& description = stage_at(node).runner->description();
    const auto named = [&](const FieldInfo& info) { return info.name == field; };
    return std::ranges::any_of(description.needs, named) ||
           std::ranges::any_of(description.accepts, named);
  }

  /// Checks that a name has only one type within a flow; false after a report.
  bool check_type(std::size_t at, const FieldInfo& field) {
    const auto [known, first] = types_.emplace(field.name, Provided{field.type, {}, at, {}});
    if (first || known->second.type == field.type) return true;
    mistyped_.insert(field.name);
    report(
        "field-type", at,
        fmt::format("{} provides field '{}' as {}, but {} provides it as {}",
                    described(stage_at(at)), field.name, readable_type(field.type),
                    described(stage_at(known->second.node)), readable_type(known->second.type)),
        {"within a flow, a field name has one type; one of the plugins must use a different name"});
    return false;
  }

  /// A value that no stage builds on would be lost silently, such as the first of two losses.
  void check_overwriting(std::size_t at, const FieldInfo& field, const FieldState& state) {
    if (state.anything || reads(at, field.name)) return;
    const auto before = state.fields.find(field.name);
    if (before == state.fields.end()) return;
    report(
        "field-overwritten", at,
        fmt::format("{} provides '{}' without reading it and would overwrite the value from {}",
                    described(stage_at(at)), field.name, described(stage_at(before->second.node))),
        {"remove one of the two, or have one provide a different field",
         "a stage that builds on the existing value must declare that it needs or accepts it"});
  }

  void check_need(std::size_t at, const FieldInfo& need, const FieldState& state, bool must) {
    if (state.anything || mistyped_.contains(need.name)) return;
    const auto found = state.fields.find(need.name);
    if (found == state.fields.end()) {
      if (must) report_missing(at, need, state);
      return;
    }
    const Provided& have = found->second;
    if (have.type != need.type) {
      report("field-type", at,
             fmt::format("{} needs field '{}' as {}, but {} provides it as {}",
                         described(stage_at(at)), need.name, readable_type(need.type),
                         described(stage_at(have.node)), readable_type(have.type)));
      return;
    }
    check_values(at, need, have);
    if (have.contract.empty() || need.contract.empty()) return;
    try {
      const auto difference = TensorContract::first_difference(
          TensorContract::parse(have.contract), TensorContract::parse(need.contract));
      if (!difference) return;
      report("field-contract", at,
             fmt::format("{} cannot use field '{}': {}", described(stage_at(at)), need.name,
                         *difference),
             {fmt::format("needed:   {} by {}{}", need.contract, described(stage_at(at)),
                          explained(need.doc)),
              fmt::format("provided: {} by {}{}", have.contract, described(stage_at(have.node)),
                          explained(have.doc))});
    } catch (const Error& error) {
      report("plugin-contract", at, error.what(),
             {"this is a bug in the plugin; report it to its author"});
    }
  }

  void check_values(std::size_t at, const FieldInfo& need, const Provided& have) {
    if (have.values.empty()) return;
    const auto lacks = [&](const std::string& value) {
      return std::ranges::find(have.values, value) == have.values.end();
    };
    if (std::ranges::none_of(need.values, lacks)) return;
    report("field-values", at,
           fmt::format("{} cannot use field '{}', whose values are {} here",
                       described(stage_at(at)), need.name, enumerated(have.values)),
           {fmt::format("needed:   {} by {}", enumerated(need.values), described(stage_at(at))),
            fmt::format("provided: {} by {}", enumerated(have.values),
                        described(stage_at(have.node)))});
  }

  static std::string explained(const std::string& doc) { return doc.empty() ? doc : ": " + doc; }

  void report_missing(std::size_t at, const FieldInfo& need, const FieldState& state) {
    std::map<std::size_t, std::vector<std::string>> by_stage;
    std::vector<std::string> names;
    for (const auto& [name, field] : state.fields) {
      by_stage[field.node].push_back(name);
      names.push_back(name);
    }
    std::vector<std::string> notes{did_you_mean(need.name, names)};
    std::vector<std::string> others;
    for (const StageDraft& stage : stages_) {
      const bool before = std::ranges::any_of(ancestors_[at], [&](std::size_t node) {
        return flow_.nodes[node].stage == stage.spec.name;
      });
      if (!stage.sound || before) continue;
      for (const FieldInfo& field : stage.runner->description().provides) {
        if (field.name == need.name) others.push_back(fmt::format("'{}'", stage.spec.name));
      }
    }
    if (!others.empty()) {
      notes.push_back(
          fmt::format("it is provided by {}, which does not come before it in this "
                      "flow",
                      enumerated(others)));
    }
    for (const auto& [node, fields] : by_stage) {
      notes.push_back(
          fmt::format("available from '{}': {}", flow_.nodes[node].stage, enumerated(fields)));
    }
    const auto replaced = std::ranges::find_if(ancestors_[at], [&](std::size_t node) {
      const StageDraft& stage = stage_at(node);
      return node != at && stage.sound && stage.runner->description().replaces_packets;
    });
    if (replaced != ancestors_[at].end()) {
      notes.push_back(
          fmt::format("'{}' emits new packets: fields from earlier stages are not passed on",
                      flow_.nodes[*replaced].stage));
    }
    if (by_stage.empty()) notes.emplace_back("no stage before it provides any field");
    report("missing-field", at,
           fmt::format("{} needs field '{}'{}, which no stage before it provides",
                       described(stage_at(at)), need.name,
                       need.contract.empty() ? "" : " (" + need.contract + ")"),
           std::move(notes));
  }

  const FlowSpec& flow_;
  const std::vector<StageDraft>& stages_;
  Findings& findings_;
  std::vector<std::set<std::size_t>> ancestors_;
  std::vector<FieldState> states_;
  std::set<std::tuple<std::string, std::size_t, std::size_t>> conflicts_;
  std::map<std::string, Provided> types_;  ///< by name, of the first stage that provides it
  std::set<std::string> mistyped_;         ///< already reported, so their readers are not checked
};

/// Where the file itself or --set sets something in a stage; null: only extended files do.
const Place* said_here(const Entry& stage, const std::string& file) {
  const auto here = [&](const Place& place) { return place.file == file || place.file == "--set"; };
  if (here(stage.key_place)) return &stage.key_place;
  if (stage.node.table() == nullptr) return nullptr;
  for (const Entry& key : stage.node.table()->entries) {
    if (key.inherited_from.empty() && here(key.key_place)) return &key.key_place;
  }
  return nullptr;
}

}  // namespace

std::vector<FlowSpec> read_flows(const Table& tree, const std::string& file,
                                 const std::vector<StageDraft>& stages, const Paths& paths,
                                 const Sources& sources, std::vector<std::string>& names,
                                 Findings& findings) {
  std::vector<FlowSpec> flows;
  const Entry* entry = tree.find("flow");
  const Table* table = entry != nullptr ? read_table(*entry, "[flow]", findings) : nullptr;
  if (entry == nullptr || (table != nullptr && table->entries.empty())) {
    findings.error("no-flow", entry != nullptr ? entry->key_place : Place{file, 0, 0, 1},
                   "the file has no flow",
                   {"add one: [flow] with a line such as train = \"items -> decode -> report\""});
    return flows;
  }
  if (table == nullptr) return flows;
  for (const Entry& line : table->entries) {
    names.push_back(line.key);
    if (!is_flow_name(line.key)) {
      findings.error("flow-name", line.key_place,
                     fmt::format("'{}' is not a valid flow name", line.key),
                     {"names have letters, digits, '_' and '-', and begin with a letter or '_'"});
    }
    const auto text = read_text(line, "[flow]", findings);
    if (!text) continue;
    const FlowText parsed = parse_flow(*text);
    if (report_faults(parsed, line, sources, findings)) continue;
    std::optional<Expanded> expanded = paths.expand(line, parsed, TextKind::flow);
    if (!expanded) continue;
    FlowSpec flow;
    flow.name = line.key;
    flow.text = *text;
    flow.nodes = std::move(expanded->nodes);
    flow.place = line.key_place;
    const std::size_t errors_before = findings.errors();
    ShapeCheck(flow, stages, paths, findings).check();
    if (findings.errors() == errors_before) flows.push_back(std::move(flow));
  }
  return flows;
}

void check_fields(const FlowSpec& flow, const std::vector<StageDraft>& stages, Findings& findings) {
  FieldCheck(flow, stages, findings).check();
}

void check_use(const Table& tree, const std::string& file, const std::vector<StageDraft>& stages,
               const std::vector<FlowSpec>& flows, Findings& findings) {
  std::set<std::string> used;
  for (const FlowSpec& flow : flows) {
    for (const FlowNode& node : flow.nodes) used.insert(node.stage);
  }
  for (const StageDraft& stage : stages) {
    for (const auto& [parameter, target] : stage.spec.references) used.insert(target);
    used.insert(stage.spec.like);
  }
  const Entry* tables = tree.find("stage");
  for (const StageDraft& stage : stages) {
    if (used.contains(stage.spec.name)) continue;
    const Place* said = said_here(*tables->node.table()->find(stage.spec.name), file);
    if (said == nullptr) continue;
    findings.warning("stage-unused", *said,
                     fmt::format("{} is unused: it is not in any flow, and no stage refers to it",
                                 described(stage)));
  }
}

}  // namespace seam::host
