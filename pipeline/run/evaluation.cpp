#include "pipeline/run/evaluation.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace {

/// The schedule without the flows that train.
ScheduleSpec evaluating(const CheckedPipeline& pipeline) {
  const auto evaluates = [&](const std::string& flow) {
    return !trains(pipeline, flow_named(pipeline.spec, flow));
  };
  const ScheduleSpec& all = pipeline.spec.schedule;
  ScheduleSpec schedule;
  std::vector<std::string> each_epoch;
  for (const ScheduledFlow& turn : all.each_epoch) {
    if (evaluates(turn.flow)) each_epoch.push_back(turn.flow);
  }
  std::ranges::copy_if(all.after, std::back_inserter(schedule.after), evaluates);
  std::ranges::copy_if(all.before, std::back_inserter(schedule.before), [&](const auto& flow) {
    return evaluates(flow) && !contains(each_epoch, flow) && !contains(schedule.after, flow);
  });
  if (each_epoch.empty()) each_epoch.swap(schedule.after);
  if (each_epoch.empty()) each_epoch.swap(schedule.before);
  for (const std::string& flow : each_epoch) schedule.each_epoch.push_back({flow});
  return schedule;
}

/// The parameters that name initial weights or specify their import.
std::vector<const ParameterInfo*> initial_parameters(const Description& description) {
  std::vector<const ParameterInfo*> found;
  for (const ParameterInfo& parameter : description.parameters) {
    if (parameter.initial) found.push_back(&parameter);
  }
  return found;
}

/// Rejects a key that would have no effect or that this verb sets. `evaluation`: the pipeline with
/// the schedule of the evaluation.
void refuse_ineffective(const std::string& setting, const CheckedPipeline& pipeline,
                        const PipelineSpec& evaluation, const std::vector<std::string>& opened) {
  const std::string key = setting.substr(0, setting.find('='));
  const std::size_t dot = key.find('.');
  const std::string table = key.substr(0, dot);
  const std::string inner = dot == std::string::npos ? std::string() : key.substr(dot + 1);
  const std::string name = inner.substr(0, inner.find('.'));
  if (table == "schedule") {
    refuse(
        "'{}' cannot be set: seam eval runs the flows of the schedule that do not train, once each",
        key);
  }
  std::set<std::string> used(opened.begin(), opened.end());
  for (const std::string& scheduled : scheduled_flows(evaluation.schedule)) {
    used.insert(scheduled);
    for (const FlowNode& node : flow_named(evaluation, scheduled).nodes) {
      used.insert(node.paths.begin(), node.paths.end());
    }
  }
  if (key == "pipeline.lanes" || key == "pipeline.lanes_memory") {
    refuse("'{}' cannot be set: an evaluation computes in the lanes of its run", key);
  }
  if (key == "pipeline.seed") {
    refuse("'pipeline.seed' cannot be set: an evaluation keeps the seed of the training");
  }
  const bool named = table == "stage" || table == "flow" || table == "path";
  if (named && !used.contains(name)) {
    refuse("'{}' would have no effect: the flows that evaluate ({}) do not use it", key,
           enumerated(scheduled_flows(evaluation.schedule)));
  }
  if (table != "stage") return;
  for (const ParameterInfo* parameter :
       initial_parameters(pipeline.stages.at(name)->description())) {
    if (inner != name + "." + parameter->name) continue;
    refuse("'{}' cannot be set: seam eval uses the weights that the run trained", key);
  }
}

/// Adds the overrides that import the run's weights into the stage.
void import_weights(const StageSpec& stage, const Description& description, const std::string& run,
                    std::vector<std::string>& overrides) {
  const auto initial = initial_parameters(description);
  const bool imports =
      is_trainable(description) && std::ranges::any_of(initial, [](const ParameterInfo* one) {
        return one->kind == ValueKind::path;
      });
  if (!imports && description.keeps_state && !description.state_made_by_flow &&
      !description.only_writes) {
    refuse(
        "the flows that evaluate use stage '{}', but {} has no parameter that imports its state; "
        "evaluate without it: --set flow.NAME=...",
        stage.name, stage.use);
  }
  if (!imports) return;
  for (const ParameterInfo* parameter : initial) {
    const std::string key = "stage." + stage.name + "." + parameter->name + "=";
    if (parameter->kind == ValueKind::path) {
      overrides.push_back(key + seam::to_text(Value{run}));
    } else if (parameter->default_value) {
      overrides.push_back(key + seam::to_text(*parameter->default_value));
    }
  }
}

}  // namespace

std::vector<std::string> evaluation_overrides(const CheckedPipeline& trained,
                                              const CheckedPipeline& changed,
                                              const std::string& run,
                                              const std::vector<std::string>& set) {
  if (!trains(trained)) refuse("'{}' did not train, so it has no network to evaluate", run);
  PipelineSpec evaluation = changed.spec;
  evaluation.schedule = evaluating(trained);
  if (evaluation.schedule.each_epoch.empty()) {
    refuse("all flows in the schedule of '{}' train, so there is nothing to evaluate", run);
  }
  for (const std::string& flow : scheduled_flows(evaluation.schedule)) {
    if (!trains(changed, flow_named(evaluation, flow))) continue;
    refuse("--set adds a stage that trains to flow '{}', which evaluates", flow);
  }
  const std::vector<std::string> opened = opening_order(evaluation);
  for (const std::string& setting : set) refuse_ineffective(setting, changed, evaluation, opened);
  const std::vector<std::string> each_epoch =
      mapped(evaluation.schedule.each_epoch, &ScheduledFlow::flow);
  std::vector<std::string> overrides{
      "pipeline.name=" + seam::to_text(Value{changed.spec.name + "-eval"}),
      "schedule.epochs=1",
      "schedule.stop_early=false",
      "schedule.keep=1",
      "schedule.before=" + seam::to_text(Value{evaluation.schedule.before}),
      "schedule.each_epoch=" + seam::to_text(Value{each_epoch}),
      "schedule.after=" + seam::to_text(Value{evaluation.schedule.after})};
  const std::string folder = std::filesystem::absolute(run).lexically_normal().string();
  for (const StageSpec& stage : changed.spec.stages) {
    if (!contains(opened, stage.name)) continue;
    import_weights(stage, changed.stages.at(stage.name)->description(), folder, overrides);
  }
  return overrides;
}

}  // namespace seam::host
