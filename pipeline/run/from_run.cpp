#include "pipeline/run/from_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "pipeline/config/load.hpp"
#include "pipeline/config/parameters.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view epochs_key = "schedule.epochs";
constexpr std::string_view stop_early_key = "schedule.stop_early";
constexpr std::string_view patience_key = "schedule.stop_early.patience";

const Difference* find_difference(const std::vector<Difference>& differences,
                                  std::string_view key) {
  return find_in(differences, key, &Difference::key);
}

/// The keys that define the graph, such as "stage.model.use", with their values.
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
  graph["schedule.each_epoch"] = enumerated(mapped(schedule.each_epoch, &ScheduledFlow::flow));
  graph["schedule.after"] = enumerated(schedule.after);
  return graph;
}

std::string quoted(const std::map<std::string, std::string>& graph, const std::string& key) {
  const auto found = graph.find(key);
  return found == graph.end() ? "not set" : "\"" + found->second + "\"";
}

std::string listed(const std::vector<Difference>& differences) {
  return enumerated(mapped(differences, &Difference::key));
}

/// "stage.model.weights"
bool is_initial(const CheckedPipeline& pipeline, const std::string& key) {
  for (const auto& [name, runner] : pipeline.stages) {
    for (const ParameterInfo& parameter : runner->description().parameters) {
      if (parameter.initial && key == "stage." + name + "." + parameter.name) return true;
    }
  }
  return false;
}

/// Whether the path has the same content as in the run, or one that is not recorded.
bool has_same_content(const CheckedPipeline& pipeline, const std::filesystem::path& run,
                      const std::string& key) {
  const auto hash = [&](const std::map<std::string, std::string>& data) {
    const auto found = data.find(key);
    return found == data.end() ? std::string() : found->second;
  };
  return hash(data_files(pipeline)) == hash(read_launch(run).data);
}

/// "stage.recall.k", if the epochs or flows before them evaluate with that stage, and the epochs do
/// not train with it; not for a stage that only writes, nor for a folder or a file that has only
/// moved.
bool is_of_evaluation(const CheckedPipeline& pipeline, const std::filesystem::path& run,
                      const std::string& key) {
  if (!trains(pipeline)) return false;
  const ScheduleSpec& schedule = pipeline.spec.schedule;
  std::vector<std::string> done = mapped(schedule.each_epoch, &ScheduledFlow::flow);
  done.insert(done.end(), schedule.before.begin(), schedule.before.end());
  for (const auto& [name, runner] : pipeline.stages) {
    const std::string prefix = "stage." + name + ".";
    if (!key.starts_with(prefix) || runner->description().only_writes) continue;
    bool evaluates = false;
    for (const std::string& scheduled : done) {
      const FlowSpec& flow = flow_named(pipeline.spec, scheduled);
      if (!contains(flow.nodes, name, &FlowNode::stage)) continue;
      if (trains(pipeline, flow)) return false;
      evaluates = true;
    }
    const bool is_path =
        std::ranges::any_of(runner->description().parameters, [&](const ParameterInfo& parameter) {
          return parameter.kind == ValueKind::path && prefix + parameter.name == key;
        });
    return evaluates && !(is_path && has_same_content(pipeline, run, key));
  }
  return false;
}

}  // namespace

std::vector<Difference> differences_between(const std::string& before, const std::string& now) {
  std::map<std::string, Difference> all;
  for (const auto& [key, value] : parameters_of(before, "resolved.toml")) {
    all[key] = {key, value, {}};
  }
  for (const auto& [key, value] : parameters_of(now, "the pipeline")) {
    Difference& difference = all[key];
    difference.key = key;
    difference.now = value;
  }
  std::vector<Difference> list;
  for (const auto& [key, difference] : all) {
    if (difference.before != difference.now) list.push_back(difference);
  }
  return list;
}

std::vector<Difference> set_by_users(std::vector<Difference> differences) {
  std::erase_if(differences, [](const Difference& one) { return one.key.starts_with("chosen."); });
  return differences;
}

std::vector<Difference> in_results(std::vector<Difference> differences, const Roles& roles) {
  std::erase_if(differences,
                [&](const Difference& one) { return !roles.changes_results(one.key); });
  return differences;
}

std::string to_text(const std::vector<Difference>& differences) {
  const auto shown = [](const std::optional<std::string>& value) {
    return value ? *value : std::string("not set");
  };
  return enumerated(mapped(differences, [&](const Difference& one) {
    return fmt::format("{} = {} (was {})", one.key, shown(one.now), shown(one.before));
  }));
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
    refuse(
        "'{}' cannot be changed with --from: it is {}, and --set would make it {}. A checkpoint is "
        "tied to the stages, the flows and their order; run a file with the changed pipeline, and "
        "load the trained weights with `weights = \"{}\"`",
        key, was, is, run);
  }
  if (before.plugin_paths != now.plugin_paths) {
    refuse(
        "'pipeline.plugins' cannot be changed with --from; to use other plugins, pass "
        "--plugin-path");
  }
}

void refuse_edited(const std::string& before, const std::string& now, const Roles& roles,
                   const std::string& checkpoint, const std::string& run) {
  if (before == now) return;
  const std::vector<Difference> differences = in_results(differences_between(before, now), roles);
  if (differences.empty()) return;
  refuse(
      "resolved.toml was changed after '{}' was written: {}; the pipeline of a run must not "
      "change: restore the file, or start another run with other values: seam run --from {} --set "
      "KEY=VALUE",
      checkpoint, to_text(differences), run);
}

void refuse_initial(const std::vector<Difference>& differences,
                    const std::function<bool(const std::string&)>& is_initial,
                    const std::string& checkpoint) {
  for (const Difference& difference : differences) {
    if (!is_initial(difference.key)) continue;
    refuse(
        "'{}' sets the initial weights of a network, but with --from the run starts with the "
        "weights in '{}'; to change it, run the pipeline file",
        difference.key, checkpoint);
  }
}

void refuse_other_evaluation(const std::vector<Difference>& differences,
                             const std::function<bool(const std::string&)>& is_of_evaluation,
                             const std::string& run) {
  for (const Difference& difference : differences) {
    if (!is_of_evaluation(difference.key)) continue;
    refuse(
        "'{}' changes how epochs are evaluated, so their scores would be compared with earlier "
        "ones that were measured differently; to evaluate the network differently, use: seam eval "
        "{} --set {}=...",
        difference.key, run, difference.key);
  }
}

SchedulePosition continued(const std::vector<Difference>& differences, const ScheduleSpec& now,
                           SchedulePosition position) {
  const bool other_rule = std::ranges::any_of(differences, [](const Difference& change) {
    return change.key.starts_with(stop_early_key) && change.key != patience_key;
  });
  if (other_rule) {
    // Measurements for the old rule do not apply to the new one. If there is no rule any more, the
    // best checkpoint stays the one to keep and to take weights from.
    if (now.stop_early) {
      position.best.reset();
      position.best_epochs = 0;
    }
    position.without_gain = position.epochs_measured = 0;
    position.stopped_early = false;
  } else if (find_difference(differences, patience_key) != nullptr && now.stop_early) {
    position.stopped_early = position.without_gain >= now.stop_early->patience;
  }
  if (position.epochs_done < now.epochs && !position.stopped_early) position.after_done = false;
  return position;
}

void refuse_without_effect(const std::vector<Difference>& differences, const ScheduleSpec& now,
                           const SchedulePosition& position) {
  if (find_difference(differences, epochs_key) != nullptr && now.epochs <= position.epochs_done) {
    refuse("'{}' cannot be {}: {} epochs are already done; set a larger number", epochs_key,
           now.epochs, position.epochs_done);
  }
  if (!is_complete(now, position)) return;
  const std::string what =
      position.stopped_early
          ? fmt::format(
                "stop_early ended that run after epoch {}; to continue, use --set "
                "schedule.stop_early=false or set a larger patience",
                position.epochs_done)
          : fmt::format(
                "all {} epochs of that run are done; to continue, set a larger schedule.epochs",
                position.epochs_done);
  refuse("{}: {}",
         differences.empty() ? std::string("there would be nothing to do")
                             : listed(differences) + " would have no effect",
         what);
}

Beginning beginning_from(const fs::path& run, const PipelineSpec& before,
                         const CheckedPipeline& pipeline,
                         const std::function<void(const std::string&)>& warn) {
  const PipelineSpec& now = pipeline.spec;
  const std::string shown = run.string();
  refuse_other_graph(before, now, shown);
  Beginning beginning;
  beginning.differences = set_by_users(differences_between(before.resolved, now.resolved));
  const bool trains_after = std::ranges::any_of(now.schedule.after, [&](const std::string& flow) {
    return trains(pipeline, flow_named(now, flow));
  });
  const CheckpointFolder folder(run / "checkpoints");
  CheckpointFolder::Newest newest = folder.newest([&](const CheckpointName& name) {
    return !name.is_within_epoch() && !(name.after && trains_after);
  });
  for (const CheckpointFolder::DamagedFile& damaged : newest.damaged) {
    warn(damaged.how + "; the previous checkpoint is used");
  }
  if (!newest.checkpoint) {
    refuse(
        "'{}' has no checkpoint between two epochs to start from; resume it until it has one, or "
        "run its pipeline from the beginning{}",
        shown,
        trains_after ? "; the one after the flows of `after` cannot be used, "
                       "because these flows train"
                     : "");
  }
  beginning.file = newest.file;
  Checkpoint& checkpoint = beginning.checkpoint;
  checkpoint = std::move(*newest.checkpoint);
  refuse_initial(
      beginning.differences, [&](const std::string& key) { return is_initial(pipeline, key); },
      newest.file.filename().string());
  refuse_other_evaluation(
      in_results(beginning.differences, now.roles),
      [&](const std::string& key) { return is_of_evaluation(pipeline, run, key); }, shown);
  checkpoint.position = continued(beginning.differences, now.schedule, checkpoint.position);
  refuse_without_effect(beginning.differences, now.schedule, checkpoint.position);
  checkpoint.pipeline = now.resolved;
  return beginning;
}

void lay_out(const Beginning& beginning, const RunDirectory& to) {
  const fs::path from = beginning.file.parent_path().parent_path();
  const auto copy_lines = [](const fs::path& source, const fs::path& target, std::uint64_t size) {
    if (size == 0) return;
    write_whole_file(target, read_text_file(source).substr(0, size));
    if (fs::file_size(target) == size) return;
    throw Error(fmt::format(
        "'{}' is shorter than recorded in the checkpoint: it has been truncated", source.string()));
  };
  const Checkpoint& checkpoint = beginning.checkpoint;
  copy_lines(from / to.metrics().filename(), to.metrics(), checkpoint.metrics_size);
  copy_lines(from / to.timing().filename(), to.timing(), checkpoint.timing_size);
  copy_lines(from / to.skipped().filename(), to.skipped(), checkpoint.skipped_size);
  fs::create_directories(to.checkpoints());
  write_checkpoint(to.checkpoints() / to_text(name_of(checkpoint)), checkpoint);
  const auto best = best_epochs(checkpoint.position);
  if (!best || *best == checkpoint.position.epochs_done) return;
  const std::string name = to_text(CheckpointName{*best});
  if (fs::exists(beginning.file.parent_path() / name)) {
    fs::copy_file(beginning.file.parent_path() / name, to.checkpoints() / name);
  }
}

}  // namespace seam::host
