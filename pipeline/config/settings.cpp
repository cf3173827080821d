#include "pipeline/config/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "pipeline/config/source.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/plugins/nearest.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_threads = 4096;
constexpr std::int64_t most_stall_seconds = 1'000'000'000;
constexpr std::int64_t most_epochs = 1'000'000'000;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class ScheduleReader {
 public:
  ScheduleReader(const KnownNames& known, Findings& findings)
      : known_(known), findings_(findings) {}

  ScheduleSpec read(const Table& table) {
    static const std::vector<std::string> keys{"epochs", "each_epoch", "before",
                                               "after",  "stop_early", "checkpoint_every"};
    refuse_unknown_keys(table, where, keys, findings_);
    if (const Entry* entry = table.find("epochs")) {
      schedule_.epochs = read_integer(*entry, where, 1, findings_, most_epochs).value_or(1);
    }
    if (const Entry* entry = table.find("checkpoint_every")) {
      schedule_.checkpoint_every =
          read_integer(*entry, where, 1, findings_, most_epochs).value_or(1);
    }
    if (const Entry* entry = table.find("before")) schedule_.before = flows(*entry);
    if (const Entry* entry = table.find("after")) schedule_.after = flows(*entry);
    if (const Entry* entry = table.find("each_epoch")) {
      each_epoch(*entry);
    } else {
      for (const std::string& flow : known_.flows) {
        if (!contains(schedule_.before, flow) && !contains(schedule_.after, flow)) {
          schedule_.each_epoch.push_back({flow, 1});
        }
      }
    }
    if (const Entry* entry = table.find("stop_early")) stop_early(*entry);
    return std::move(schedule_);
  }

 private:
  static constexpr const char* where = "[schedule]";

  bool check_flow(const Node& node) {
    // Where there are no flows at all, that has been reported.
    if (known_.flows.empty() || contains(known_.flows, *node.text())) return true;
    findings_.error(
        "unknown-flow", node.place, fmt::format("there is no flow '{}'", *node.text()),
        {did_you_mean(*node.text(), known_.flows),
         known_.flows.empty() ? std::string{} : "flows of this file: " + enumerated(known_.flows)});
    return false;
  }

  std::vector<std::string> flows(const Entry& entry) {
    std::vector<std::string> names;
    for (const Node* node : read_texts(entry, where, findings_)) {
      if (check_flow(*node)) names.push_back(*node->text());
    }
    return names;
  }

  void each_epoch(const Entry& entry) {
    std::vector<const Node*> elements;
    if (const Array* array = entry.node.array()) {
      for (const Node& element : *array) elements.push_back(&element);
    } else {
      elements.push_back(&entry.node);  // a single one needs no brackets
    }
    for (const Node* element : elements) {
      if (element->broken) continue;
      if (element->text() != nullptr) {
        if (check_flow(*element)) schedule_.each_epoch.push_back({*element->text(), 1});
      } else if (const Table* table = element->table()) {
        scheduled_flow(*table, element->place);
      } else {
        findings_.error("type", element->place,
                        "'each_epoch' of [schedule] lists flows, \"train\" or "
                        "{ flow = \"evaluate\", every = 5 }, not " +
                            kind_of(*element));
      }
    }
  }

  void scheduled_flow(const Table& table, const Place& place) {
    const std::string here = "an entry of 'each_epoch'";
    refuse_unknown_keys(table, here, {"flow", "every"}, findings_);
    ScheduledFlow scheduled;
    if (const Entry* every = table.find("every")) {
      scheduled.every = read_integer(*every, here, 1, findings_, most_epochs).value_or(1);
    }
    const Entry* flow = table.find("flow");
    if (flow == nullptr) {
      findings_.error("missing-key", place, here + " does not say its 'flow'");
      return;
    }
    if (!read_text(*flow, here, findings_)) return;
    if (!check_flow(flow->node)) return;
    scheduled.flow = *flow->node.text();
    schedule_.each_epoch.push_back(std::move(scheduled));
  }

  void stop_early(const Entry& entry) {
    const std::string here = "'stop_early'";
    const Table* table = read_table(entry, here, findings_);
    if (table == nullptr) return;
    refuse_unknown_keys(*table, here, {"metric", "patience", "goal"}, findings_);
    StopEarly rule;
    bool sound = true;
    if (const Entry* patience = table->find("patience")) {
      const auto epochs = read_integer(*patience, here, 1, findings_, most_epochs);
      sound = sound && epochs.has_value();
      rule.patience = epochs.value_or(1);
    }
    if (const Entry* goal = table->find("goal")) sound = read_goal(*goal, rule) && sound;
    const Entry* metric = table->find("metric");
    if (metric == nullptr) {
      findings_.error("missing-key", entry.key_place, "'stop_early' does not say its 'metric'",
                      {"write { metric = \"STAGE.METRIC\", patience = 7 }"});
      return;
    }
    const auto text = read_text(*metric, here, findings_);
    if (!text || !check_metric(*metric, *text) || !sound) return;
    rule.metric = *text;
    schedule_.stop_early = std::move(rule);
  }

  bool read_goal(const Entry& entry, StopEarly& rule) {
    const auto text = read_text(entry, "'stop_early'", findings_);
    if (!text) return false;
    if (*text != "highest" && *text != "lowest") {
      findings_.error(
          "choice", entry.node.place,
          fmt::format("'goal' of 'stop_early' is one of highest, lowest, not \"{}\"", *text),
          {did_you_mean(*text, {"highest", "lowest"})});
      return false;
    }
    rule.goal = *text == "lowest" ? Goal::lowest : Goal::highest;
    return true;
  }

  bool check_metric(const Entry& entry, const std::string& text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == text.size()) {
      findings_.error("metric", entry.node.place,
                      fmt::format("'{}' is no metric; a metric is written STAGE.METRIC, such as "
                                  "\"recall.r@1\"",
                                  text));
      return false;
    }
    const std::string stage = text.substr(0, dot);
    if (contains(known_.stages, stage)) return true;
    findings_.error("metric", entry.node.place,
                    fmt::format("the metric '{}' belongs to a stage '{}', which is not in this "
                                "file",
                                text, stage),
                    {did_you_mean(stage, known_.stages)});
    return false;
  }

  const KnownNames& known_;
  Findings& findings_;
  ScheduleSpec schedule_;
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
  const Entry* pipeline = tree.find("pipeline");
  const Table* table = pipeline != nullptr ? pipeline->node.table() : nullptr;
  const Entry* entry = table != nullptr ? table->find("plugins") : nullptr;
  if (entry == nullptr) return {};
  std::vector<const Node*> nodes;
  if (entry->node.text() != nullptr) nodes.push_back(&entry->node);
  if (const Array* array = entry->node.array()) {
    for (const Node& element : *array) nodes.push_back(&element);
  }
  std::erase_if(nodes, [](const Node* node) { return node->text() == nullptr || node->broken; });
  return nodes;
}

void check_top_level(Table& tree, Findings& findings) {
  static const std::vector<std::string> known{"pipeline", "limits", "stage", "flow", "schedule"};
  std::vector<std::string> accepted = known;
  accepted.emplace_back("extends");
  for (Entry& entry : tree.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const bool table = entry.node.table() != nullptr;
    findings.error(
        "unknown-key", entry.key_place,
        fmt::format("'{}' is not a {} of a pipeline file", entry.key, table ? "table" : "key"),
        {did_you_mean(entry.key, accepted),
         table ? "it takes: [pipeline], [limits], [stage.NAME], [flow], [schedule]"
               : "at the top stands 'extends'; all else belongs into a table: "
                 "[pipeline], [limits], [stage.NAME], [flow], [schedule]"});
    const std::vector<std::string> nearest = nearest_names(entry.key, known, 1);
    if (table && !nearest.empty() && tree.find(nearest.front()) == nullptr) {
      entry.key = nearest.front();
    }
  }
}

void read_settings(const Table& tree, PipelineSpec& spec, Findings& findings) {
  spec.name = as_utf8(fs::path(spec.file).stem().string());
  const Entry* pipeline = tree.find("pipeline");
  const std::string where = "[pipeline]";
  if (const Table* table = pipeline ? read_table(*pipeline, where, findings) : nullptr) {
    refuse_unknown_keys(*table, where, {"name", "seed", "threads", "plugins", "max_errors"},
                        findings);
    if (const Entry* entry = table->find("name")) {
      spec.name = read_text(*entry, where, findings).value_or(spec.name);
      if (spec.name.empty()) findings.error("range", entry->node.place, "the name is empty");
    }
    if (const Entry* entry = table->find("seed")) {
      spec.seed = static_cast<std::uint64_t>(read_integer(*entry, where, 0, findings).value_or(0));
    }
    if (const Entry* entry = table->find("threads")) {
      if (const auto threads = read_integer(*entry, where, 1, findings, most_threads)) {
        spec.threads = static_cast<int>(*threads);
      }
    }
    if (const Entry* entry = table->find("max_errors")) {
      if (const auto* share = std::get_if<double>(&entry->node.value)) {
        if (*share > 0 && *share < 1) {
          spec.max_error_share = *share;
        } else {
          findings.error(
              "range", entry->node.place,
              fmt::format("'max_errors' of [pipeline] takes a number of packets, or their "
                          "share between 0 and 1, not {}",
                          seam::to_text(Value{*share})));
        }
      } else {
        spec.max_errors = read_integer(*entry, where, 0, findings);
      }
    }
    if (const Entry* entry = table->find("plugins")) {
      for (const Node* node : read_texts(*entry, where, findings)) {
        spec.plugin_paths.push_back(plugin_path(*node));
      }
    }
  }
  const Entry* limits = tree.find("limits");
  if (const Table* table = limits ? read_table(*limits, "[limits]", findings) : nullptr) {
    refuse_unknown_keys(*table, "[limits]", {"packets", "bytes", "stall_seconds"}, findings);
    if (const Entry* entry = table->find("packets")) {
      spec.limits.packets =
          read_integer(*entry, "[limits]", 1, findings).value_or(spec.limits.packets);
    }
    if (const Entry* entry = table->find("bytes")) {
      spec.limits.bytes = read_bytes(*entry, "[limits]", findings).value_or(spec.limits.bytes);
    }
    if (const Entry* entry = table->find("stall_seconds")) {
      spec.limits.stall_seconds = read_integer(*entry, "[limits]", 0, findings, most_stall_seconds)
                                      .value_or(spec.limits.stall_seconds);
    }
  }
}

ScheduleSpec read_schedule(const Table& tree, const KnownNames& known, Findings& findings) {
  ScheduleSpec schedule;
  const std::size_t errors_before = findings.errors();
  const Entry* entry = tree.find("schedule");
  const Table* table = entry != nullptr ? read_table(*entry, "[schedule]", findings) : nullptr;
  if (table != nullptr) {
    schedule = ScheduleReader(known, findings).read(*table);
  } else {
    for (const std::string& flow : known.flows) schedule.each_epoch.push_back({flow, 1});
  }
  if (findings.errors() > errors_before) return schedule;  // a misspelt flow is not an unused one
  std::set<std::string> scheduled(schedule.before.begin(), schedule.before.end());
  scheduled.insert(schedule.after.begin(), schedule.after.end());
  for (const ScheduledFlow& flow : schedule.each_epoch) scheduled.insert(flow.flow);
  const Entry* flows = tree.find("flow");
  if (flows == nullptr || flows->node.table() == nullptr) return schedule;
  for (const Entry& flow : flows->node.table()->entries) {
    if (scheduled.contains(flow.key)) continue;
    findings.warning("flow-unscheduled", flow.key_place,
                     fmt::format("flow '{}' is not in the [schedule] and never runs", flow.key));
  }
  return schedule;
}

}  // namespace seam::host
