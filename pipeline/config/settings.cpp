#include "pipeline/config/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "pipeline/config/host_tables.hpp"
#include "pipeline/config/source.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

/// The elements of the list at these keys, or the only value there.
std::vector<const Node*> elements_at(const Table& tree,
                                     std::initializer_list<std::string_view> keys) {
  const Node* node = tree.at(keys);
  if (node == nullptr) return {};
  if (node->array() == nullptr) return {node};
  return mapped(*node->array(), [](const Node& element) { return &element; });
}

/// Checks that the flows, stages and metrics of [schedule] exist. Other values have been reported.
void check_schedule(const Table& tree, const KnownNames& known, Findings& findings) {
  for (const char* key : {"before", "each_epoch", "after"}) {
    const Node* list = tree.at({"schedule", key});
    if (list == nullptr || list->broken || known.flows.empty()) continue;
    for (const Node* node : elements_at(tree, {"schedule", key})) {
      const Entry* inner = node->table() != nullptr ? node->table()->find("flow") : nullptr;
      const Node& flow = inner != nullptr ? inner->node : *node;
      if (flow.text() == nullptr || flow.broken || contains(known.flows, *flow.text())) continue;
      findings.error("unknown-flow", flow.place, fmt::format("there is no flow '{}'", *flow.text()),
                     {did_you_mean(*flow.text(), known.flows),
                      "flows of this file: " + enumerated(known.flows)});
    }
  }
  for (const Node* stage : elements_at(tree, {"schedule", "floors"})) {
    if (stage->text() == nullptr || stage->broken || contains(known.stages, *stage->text())) {
      continue;
    }
    findings.error("unknown-stage", stage->place,
                   fmt::format("there is no stage '{}'", *stage->text()),
                   {did_you_mean(*stage->text(), known.stages)});
  }
  for (const auto& [key, inner] : {std::pair("stop_early", "metric"), {"keep", "best"}}) {
    const Node* metric = tree.at({"schedule", key, inner});
    if (metric == nullptr || metric->text() == nullptr || metric->broken) continue;
    const std::string& text = *metric->text();
    const std::string stage = text.substr(0, text.find('.'));
    if (stage.empty() || stage.size() + 1 >= text.size()) {
      findings.error("metric", metric->place,
                     fmt::format("'{}' is not a metric; a metric is written STAGE.METRIC, such as "
                                 "\"recall.r@1\"",
                                 text));
    } else if (!contains(known.stages, stage)) {
      findings.error("metric", metric->place,
                     fmt::format("the metric '{}' belongs to a stage '{}', which is not in this "
                                 "file",
                                 text, stage),
                     {did_you_mean(stage, known.stages)});
    }
  }
}

}  // namespace

std::string plugin_path(const Node& node) {
  // Relative to the file that names it, wherever the program runs.
  std::error_code error;
  const fs::path base =
      node.place.file == "--set" ? fs::path{} : fs::path(node.place.file).parent_path();
  const fs::path path = base / *node.text();
  const fs::path absolute = fs::absolute(path, error);
  return (error ? path : absolute).lexically_normal().string();
}

std::vector<const Node*> plugin_nodes(const Table& tree) {
  std::vector<const Node*> nodes = elements_at(tree, {"pipeline", "plugins"});
  std::erase_if(nodes, [](const Node* node) { return node->text() == nullptr || node->broken; });
  return nodes;
}

void check_top_level(Table& tree, Findings& findings) {
  static const std::vector<std::string> known{"pipeline", "limits",   "stage", "path",
                                              "flow",     "schedule", "sweep", "chosen"};
  std::vector<std::string> accepted = known;
  accepted.insert(accepted.end(), {"extends", "variant", "variants"});
  for (Entry& entry : tree.entries) {
    if (contains(known, entry.key)) continue;
    const bool table = entry.node.table() != nullptr;
    findings.error(
        "unknown-key", entry.key_place,
        fmt::format("'{}' is not a {} of a pipeline file", entry.key, table ? "table" : "key"),
        {did_you_mean(entry.key, accepted),
         std::string(table ? "it takes: "
                           : "only 'extends' goes at the top level; everything else belongs in a "
                             "table: ") +
             "[pipeline], [limits], [stage.NAME], [path], [flow], [schedule], [sweep], "
             "[variant.NAME], [variants]"});
    const std::vector<std::string> nearest = nearest_names(entry.key, known, 1);
    if (table && !nearest.empty() && tree.find(nearest.front()) == nullptr) {
      entry.key = nearest.front();
    }
  }
}

bool is_device(std::string_view text) {
  constexpr std::string_view gpu = "cuda:";
  if (text == "cpu" || text == "cuda" || text == "auto") return true;
  if (!text.starts_with(gpu)) return false;
  text.remove_prefix(gpu.size());
  constexpr std::size_t most_digits = 2;
  return !text.empty() && text.size() <= most_digits && (text == "0" || text.front() != '0') &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

void read_settings(const Table& tree, PipelineSpec& spec, Findings& findings) {
  spec.name = as_utf8(fs::path(spec.file).stem().string());
  if (const Table* table = read_table(tree, "pipeline", findings)) {
    read_keys(pipeline_table(spec), *table, findings);
    if (spec.name.empty()) {
      findings.error("range", table->find("name")->node.place, "the name is empty");
    }
    if (!is_device(spec.device)) {
      findings.error(
          "choice", table->find("device")->node.place,
          fmt::format("'device' of [pipeline] takes {}, not \"{}\"", device_forms, spec.device));
    }
    if (spec.lanes.count == 1 && spec.lanes.memory != LaneMemory::keep) {
      findings.error("no-effect", table->find("lanes_memory")->node.place,
                     "'lanes_memory' of [pipeline] has no effect with lanes = 1; set it to "
                     "\"keep\", or set lanes");
    }
    // Of the file itself, not of those that it extends.
    const auto is_own = [&](const char* key) {
      const Entry* entry = table->find(key);
      return entry != nullptr && entry->node.place.file == spec.file;
    };
    if (!is_own("twin")) spec.twin.clear();
    if (!is_own("differs_in")) spec.differs_in.clear();
    spec.plugin_paths.clear();
    for (const Node* node : plugin_nodes(tree)) spec.plugin_paths.push_back(plugin_path(*node));
  }
  if (const Table* table = read_table(tree, "limits", findings)) {
    read_keys(limits_table(spec.limits), *table, findings);
  }
}

void check_tensorboard(const Table& tree, const KnownNames& known, Findings& findings) {
  for (const Node* node : elements_at(tree, {"pipeline", "tensorboard", "histograms"})) {
    const std::string* text = node->text();
    if (text == nullptr || node->broken) continue;  // that has been reported
    const std::string stage = text->substr(0, text->find('.'));
    if (stage.empty() || stage.size() + 1 >= text->size()) {
      findings.error(
          "pattern", node->place,
          fmt::format("'{}' does not name a tensor; 'histograms' takes STAGE.TENSOR, such as "
                      "\"model.*\" or \"model.*.weight\"",
                      *text));
    } else if (stage.find_first_of("*?") == std::string::npos && !contains(known.stages, stage)) {
      findings.error("unknown-stage", node->place,
                     fmt::format("'{}' names tensors of a stage '{}', which is not in this file",
                                 *text, stage),
                     {did_you_mean(stage, known.stages)});
    }
  }
}

ScheduleSpec read_schedule(const Table& tree, const std::string& own, const KnownNames& known,
                           Findings& findings) {
  ScheduleSpec schedule;
  const std::size_t errors_before = findings.errors();
  const Table* table = read_table(tree, "schedule", findings);
  if (table != nullptr) {
    read_keys(schedule_table(schedule), *table, findings);
    check_schedule(tree, known, findings);
  }
  if (table == nullptr || table->find("each_epoch") == nullptr) {
    for (const std::string& flow : known.flows) {
      if (!contains(schedule.before, flow) && !contains(schedule.after, flow)) {
        schedule.each_epoch.push_back({flow, 1});
      }
    }
  }
  if (findings.errors() > errors_before) return schedule;  // a misspelt flow is not an unused one
  const std::vector<std::string> scheduled = scheduled_flows(schedule);
  const Entry* flows = tree.find("flow");
  if (flows == nullptr || flows->node.table() == nullptr) return schedule;
  for (const Entry& flow : flows->node.table()->entries) {
    const bool is_own = flow.key_place.file == own || flow.key_place.file == "--set";
    if (contains(scheduled, flow.key) || !is_own || own.empty()) continue;
    findings.warning("flow-unscheduled", flow.key_place,
                     fmt::format("flow '{}' is not in the [schedule] and never runs", flow.key));
  }
  return schedule;
}

void check_repeats(const Table& tree, const ScheduleSpec& schedule,
                   const std::function<bool(const std::string&)>& trains, Findings& findings) {
  struct Turn {
    const Node* node;
    std::string flow;
    bool first_epoch;
    bool last_epoch;
  };
  const bool one_epoch = schedule.epochs == 1;
  std::vector<Turn> turns;
  const auto add = [&](const Node& node, const std::string& flow, bool first, bool last) {
    if (trains(flow)) turns.push_back({&node, flow, first, last});
  };
  const std::vector<const Node*> before = elements_at(tree, {"schedule", "before"});
  const std::vector<const Node*> each_epoch = elements_at(tree, {"schedule", "each_epoch"});
  const std::vector<const Node*> after = elements_at(tree, {"schedule", "after"});
  for (std::size_t at = 0; at < before.size(); ++at) {
    add(*before[at], schedule.before[at], true, one_epoch);
  }
  for (std::size_t at = 0; at < each_epoch.size(); ++at) {
    const ScheduledFlow& flow = schedule.each_epoch[at];
    add(*each_epoch[at], flow.flow, flow.every == 1 || one_epoch, true);
  }
  for (std::size_t at = 0; at < after.size(); ++at) {
    add(*after[at], schedule.after[at], one_epoch, true);
  }
  for (auto turn = turns.begin(); turn != turns.end(); ++turn) {
    const bool repeats = std::any_of(turns.begin(), turn, [&](const Turn& earlier) {
      return earlier.flow == turn->flow && ((earlier.first_epoch && turn->first_epoch) ||
                                            (earlier.last_epoch && turn->last_epoch));
    });
    if (!repeats) continue;
    findings.warning(
        "flow-repeated", turn->node->place,
        fmt::format("flow '{}' trains twice in one epoch, with the same random draws", turn->flow),
        {"samples, augmentation and dropout depend on the seed, the stage and the "
         "epoch: list the flow once, and set more 'epochs'"});
  }
}

}  // namespace seam::host
