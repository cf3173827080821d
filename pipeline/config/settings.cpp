#include "pipeline/config/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "pipeline/config/host_tables.hpp"
#include "pipeline/config/source.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The elements of the list at these keys, or the only value there.
std::vector<const Node*> elements_at(const Table& tree,
                                     std::initializer_list<std::string_view> keys) {
  const Node* node = tree.at(keys);
  if (node == nullptr) return {};
  if (node->array() == nullptr) return {node};
  std::vector<const Node*> elements;
  for (const Node& element : *node->array()) elements.push_back(&element);
  return elements;
}

/// Checks that the flows, stages and metrics of a schedule exist.
class ScheduleCheck {
 public:
  ScheduleCheck(const KnownNames& known, Findings& findings) : known_(known), findings_(findings) {}

  void check(const Table& table) const {
    for (const char* key : {"before", "each_epoch", "after"}) {
      if (const Entry* entry = table.find(key)) check_flows(entry->node);
    }
    check_metric_of(table, "stop_early", "metric");
    check_metric_of(table, "keep", "best");
    if (const Entry* entry = table.find("floors")) check_stages(entry->node);
  }

 private:
  /// Checks that a metric in an inner table belongs to a stage.
  void check_metric_of(const Table& table, std::string_view key, std::string_view inner) const {
    const Node* metric = table.at({key, inner});
    if (metric != nullptr && metric->text() != nullptr && !metric->broken) check_metric(*metric);
  }

  /// A flow's name, a table with one, or a list of these. Other values have been reported.
  void check_flows(const Node& node) const {
    if (node.broken) return;
    if (const Array* array = node.array()) {
      for (const Node& element : *array) check_flows(element);
    } else if (const Table* table = node.table()) {
      if (const Entry* flow = table->find("flow")) check_flows(flow->node);
    } else if (const std::string* flow = node.text()) {
      check_flow(node.place, *flow);
    }
  }

  void check_flow(const Place& place, const std::string& flow) const {
    // If there are no flows at all, that has been reported.
    if (known_.flows.empty() || contains(known_.flows, flow)) return;
    findings_.error(
        "unknown-flow", place, fmt::format("there is no flow '{}'", flow),
        {did_you_mean(flow, known_.flows), "flows of this file: " + enumerated(known_.flows)});
  }

  /// A stage's name, or a list of these.
  void check_stages(const Node& node) const {
    if (const Array* array = node.array()) {
      for (const Node& element : *array) check_stages(element);
    } else if (const std::string* stage = node.text(); stage != nullptr && !node.broken) {
      if (contains(known_.stages, *stage)) return;
      findings_.error("unknown-stage", node.place, fmt::format("there is no stage '{}'", *stage),
                      {did_you_mean(*stage, known_.stages)});
    }
  }

  void check_metric(const Node& metric) const {
    const std::string& text = *metric.text();
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == text.size()) {
      findings_.error("metric", metric.place,
                      fmt::format("'{}' is not a metric; a metric is written STAGE.METRIC, such as "
                                  "\"recall.r@1\"",
                                  text));
      return;
    }
    const std::string stage = text.substr(0, dot);
    if (contains(known_.stages, stage)) return;
    findings_.error("metric", metric.place,
                    fmt::format("the metric '{}' belongs to a stage '{}', which is not in this "
                                "file",
                                text, stage),
                    {did_you_mean(stage, known_.stages)});
  }

  const KnownNames& known_;
  Findings& findings_;
};

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
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const bool table = entry.node.table() != nullptr;
    findings.error(
        "unknown-key", entry.key_place,
        fmt::format("'{}' is not a {} of a pipeline file", entry.key, table ? "table" : "key"),
        {did_you_mean(entry.key, accepted),
         table
             ? "it takes: [pipeline], [limits], [stage.NAME], [path], [flow], [schedule], [sweep], "
               "[variant.NAME], [variants]"
             : "only 'extends' goes at the top level; everything else belongs in a table: "
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
  const Entry* pipeline = tree.find("pipeline");
  if (const Table* table = pipeline ? read_table(*pipeline, "[pipeline]", findings) : nullptr) {
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
  const Entry* limits = tree.find("limits");
  if (const Table* table = limits ? read_table(*limits, "[limits]", findings) : nullptr) {
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
  const Entry* entry = tree.find("schedule");
  const Table* table = entry != nullptr ? read_table(*entry, "[schedule]", findings) : nullptr;
  if (table != nullptr) {
    read_keys(schedule_table(schedule), *table, findings);
    ScheduleCheck(known, findings).check(*table);
  }
  if (table == nullptr || table->find("each_epoch") == nullptr) {
    for (const std::string& flow : known.flows) {
      if (!contains(schedule.before, flow) && !contains(schedule.after, flow)) {
        schedule.each_epoch.push_back({flow, 1});
      }
    }
  }
  if (findings.errors() > errors_before) return schedule;  // a misspelt flow is not an unused one
  std::set<std::string> scheduled(schedule.before.begin(), schedule.before.end());
  scheduled.insert(schedule.after.begin(), schedule.after.end());
  for (const ScheduledFlow& flow : schedule.each_epoch) scheduled.insert(flow.flow);
  const Entry* flows = tree.find("flow");
  if (flows == nullptr || flows->node.table() == nullptr) return schedule;
  for (const Entry& flow : flows->node.table()->entries) {
    const bool is_own = flow.key_place.file == own || flow.key_place.file == "--set";
    if (scheduled.contains(flow.key) || !is_own || own.empty()) continue;
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
