#include "pipeline/run/resume_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "pipeline/text/nearest.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

constexpr std::string_view epochs_key = "schedule.epochs";
constexpr std::string_view stop_early_key = "schedule.stop_early";
constexpr std::string_view patience_key = "schedule.stop_early.patience";

const ParameterChange* find(const std::vector<ParameterChange>& changes, std::string_view key) {
  const auto found = std::ranges::find(changes, key, &ParameterChange::key);
  return found == changes.end() ? nullptr : &*found;
}

std::vector<std::string> flow_names(const std::vector<ScheduledFlow>& turns) {
  std::vector<std::string> names;
  for (const ScheduledFlow& turn : turns) names.push_back(turn.flow);
  return names;
}

/// The keys that are the graph's, with their values: "stage.model.use".
std::map<std::string, std::string> graph_of(const PipelineSpec& spec) {
  std::map<std::string, std::string> graph;
  for (const StageSpec& stage : spec.stages) {
    graph["stage." + stage.name + ".use"] = stage.use;
    for (const auto& [parameter, target] : stage.references) {
      graph["stage." + stage.name + "." + parameter] = target;
    }
  }
  for (const FlowSpec& flow : spec.flows) graph["flow." + flow.name] = flow.text;
  for (const PathSpec& path : spec.paths) graph["path." + path.name] = path.text;
  const ScheduleSpec& schedule = spec.schedule;
  graph["schedule.before"] = enumerated(schedule.before);
  graph["schedule.each_epoch"] = enumerated(flow_names(schedule.each_epoch));
  graph["schedule.after"] = enumerated(schedule.after);
  return graph;
}

std::string quoted(const std::map<std::string, std::string>& graph, const std::string& key) {
  const auto found = graph.find(key);
  return found == graph.end() ? "not set" : "\"" + found->second + "\"";
}

/// Whether it leaves the numbers of an epoch under way as they are. `max_errors` as a share is
/// judged over a whole flow.
bool leaves_numbers(const ParameterChange& change) {
  const auto whole = [](const std::optional<std::string>& value) {
    return !value || value->find_first_not_of("0123456789") == std::string::npos;
  };
  if (change.key == "pipeline.max_errors") return whole(change.before) && whole(change.now);
  return !changes_results(change.key);
}

/// Whether the flows of the epoch under way are the same for another number of epochs.
bool leaves_flows(const ParameterChange& epochs, const ScheduleSpec& now,
                  const SchedulePosition& position) {
  if (!position.before_done) return true;
  ScheduleSpec before = now;
  const std::string text = epochs.before.value_or("");
  std::from_chars(text.data(), text.data() + text.size(), before.epochs);
  return position.epochs_done < std::min(before.epochs, now.epochs) && !position.stopped_early &&
         flows_of_epoch(before, position.epochs_done) == flows_of_epoch(now, position.epochs_done);
}

std::string listed(const std::vector<ParameterChange>& changes) {
  std::vector<std::string> keys;
  for (const ParameterChange& change : changes) keys.push_back(change.key);
  return enumerated(keys);
}

}  // namespace

std::vector<ParameterChange> changes_between(const std::string& before, const std::string& now) {
  const Parameters old = parameters_of(before, "resolved.toml");
  const Parameters changed = parameters_of(now, "resolved.toml with --set");
  std::map<std::string, ParameterChange> changes;
  for (const auto& [key, value] : old) changes[key] = {key, value, {}};
  for (const auto& [key, value] : changed) {
    ParameterChange& change = changes[key];
    change.key = key;
    change.now = value;
  }
  std::vector<ParameterChange> list;
  for (const auto& [key, change] : changes) {
    if (change.before != change.now) list.push_back(change);
  }
  return list;
}

void refuse_other_graph(const PipelineSpec& before, const PipelineSpec& now,
                        const std::string& run) {
  const auto old = graph_of(before);
  const auto changed = graph_of(now);
  auto all = old;
  all.insert(changed.begin(), changed.end());
  for (const auto& [key, value] : all) {
    const std::string was = quoted(old, key);
    const std::string is = quoted(changed, key);
    if (was == is) continue;
    throw Error(fmt::format("'{}' cannot be changed when a run is resumed: it is {}, and --set "
                            "makes it {}. Stages, flows and the order of flows are what a "
                            "checkpoint belongs to; start a new run with the changed pipeline, "
                            "whose stages take the trained weights with `weights = \"{}\"`",
                            key, was, is, run),
                Fault::configuration);
  }
  if (before.plugin_paths != now.plugin_paths) {
    throw Error(
        "'pipeline.plugins' cannot be changed when a run is resumed; --plugin-path takes the "
        "plugins to use instead of those that the run used",
        Fault::configuration);
  }
}

void refuse_initial(const std::vector<ParameterChange>& changes, const std::string& checkpoint) {
  for (const ParameterChange& change : changes) {
    const std::string name = change.key.substr(change.key.rfind('.') + 1);
    if (!change.key.starts_with("stage.") ||
        (name != "weights" && name != "rename" && name != "initialisation")) {
      continue;
    }
    throw Error(fmt::format("'{}' says how a network begins, but this run goes on with the weights "
                            "of '{}'; start a new run with it",
                            change.key, checkpoint),
                Fault::configuration);
  }
}

void refuse_within_epoch(const std::vector<ParameterChange>& changes, const ScheduleSpec& now,
                         const SchedulePosition& position, const std::string& place,
                         const std::string& checkpoint) {
  for (const ParameterChange& change : changes) {
    const bool allowed =
        change.key == epochs_key ? leaves_flows(change, now, position) : leaves_numbers(change);
    if (allowed) continue;
    throw Error(
        fmt::format("'{}' cannot be changed here: the newest checkpoint, '{}', was written {}, and "
                    "parameters that affect results change only between two epochs. Resume without "
                    "it, or delete the checkpoints within the epoch (those with '-flow-' or "
                    "'-step-' in their names) to repeat the epoch with the new value",
                    change.key, checkpoint, place),
        Fault::configuration);
  }
}

SchedulePosition continued(const std::vector<ParameterChange>& changes, const ScheduleSpec& now,
                           SchedulePosition position) {
  const bool other_rule = std::ranges::any_of(changes, [](const ParameterChange& change) {
    return change.key.starts_with(stop_early_key) && change.key != patience_key;
  });
  if (other_rule) {
    // What was measured by the other rule says nothing about this one. Where there is none any
    // more, the checkpoint of the best stays what it was: the one to keep, and to take weights
    // from.
    if (now.stop_early) {
      position.best.reset();
      position.best_epochs = 0;
    }
    position.without_gain = position.epochs_measured = 0;
    position.stopped_early = false;
  } else if (find(changes, patience_key) != nullptr && now.stop_early) {
    position.stopped_early = position.without_gain >= now.stop_early->patience;
  }
  if (position.epochs_done < now.epochs && !position.stopped_early) position.after_done = false;
  return position;
}

void refuse_without_effect(const std::vector<ParameterChange>& changes, const ScheduleSpec& now,
                           const SchedulePosition& position) {
  if (changes.empty()) return;
  if (find(changes, epochs_key) != nullptr && now.epochs <= position.epochs_done) {
    throw Error(fmt::format("'{}' cannot be {}: {} epochs are done; it takes more than that",
                            epochs_key, now.epochs, position.epochs_done),
                Fault::configuration);
  }
  if (!is_complete(now, position)) return;
  const std::string what =
      position.stopped_early
          ? fmt::format(
                "stop_early ended it after epoch {}; to go on, also --set "
                "schedule.stop_early=false, or a larger patience",
                position.epochs_done)
          : fmt::format("its {} epochs are done; to go on, also --set schedule.epochs to more",
                        position.epochs_done);
  throw Error(
      fmt::format("this run is complete, so {} would have no effect: {}", listed(changes), what),
      Fault::configuration);
}

}  // namespace seam::host
