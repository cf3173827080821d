#include "pipeline/config/flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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
          const bool shared = std::ranges::all_of(
              join.inputs, [&](std::size_t other) { return ancestors[other].contains(node); });
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
