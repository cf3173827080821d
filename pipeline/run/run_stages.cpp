#include "pipeline/run/run_stages.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "pipeline/run/kept_state.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {

bool is_trainable(const Description& description) {
  // By name, because the host does not depend on LibTorch. Compilers differ in the namespace.
  return std::ranges::any_of(description.offers, [](const OfferedInterface& offer) {
    return offer.interface == "Trainable" || offer.interface == "seam::Trainable";
  });
}

std::vector<std::string> opening_order(const PipelineSpec& spec) {
  std::map<std::string, const StageSpec*> specs;
  for (const StageSpec& stage : spec.stages) specs.emplace(stage.name, &stage);
  std::vector<std::string> order;
  std::set<std::string> seen;
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    if (!seen.insert(name).second) return;
    if (const auto found = specs.find(name); found != specs.end()) {
      for (const auto& [parameter, target] : found->second->references) visit(target);
    }
    order.push_back(name);
  };
  for (const std::string& flow : scheduled_flows(spec.schedule)) {
    for (const FlowNode& node : flow_named(spec, flow).nodes) visit(node.stage);
  }
  return order;
}

namespace {

Error missing_state(const StageRunner& runner) {
  const std::string begin = "the checkpoint has no state for stage '" + runner.name() + "'";
  if (runner.description().state_made_by_flow) {
    return Error(begin +
                     ": under the schedule it was written with, the stage is refilled before it is "
                     "read, or is not read again. Under the schedule in resolved.toml it is read "
                     "first: restore the schedule, or run a flow that fills the stage first",
                 Fault::configuration);
  }
  return Error(begin + ", although the stage now saves one; the plugin that provides " +
                   runner.type() + " has changed since the run was started",
               Fault::configuration);
}

}  // namespace

std::vector<StageRunner*> upstream_of(const CheckedPipeline& pipeline, const std::string& name) {
  std::vector<StageRunner*> upstream;
  for (const std::string& scheduled : scheduled_flows(pipeline.spec.schedule)) {
    const FlowSpec& flow = flow_named(pipeline.spec, scheduled);
    const auto node = std::ranges::find(flow.nodes, name, &FlowNode::stage);
    if (node == flow.nodes.end()) continue;
    for (const std::size_t at :
         upstream_of(flow, static_cast<std::size_t>(node - flow.nodes.begin()))) {
      add_unless_present(upstream, pipeline.stages.at(flow.nodes[at].stage).get());
    }
  }
  return upstream;
}

void RunStages::where_it_belongs(const StageRunner& runner, const std::function<void()>& work) {
  if (runner.on_compute_thread()) {
    flows_.on_compute_thread(work);
  } else {
    work();
  }
}

void RunStages::open(const RunState& run, const std::function<bool()>& stop) {
  for (const std::string& name : opening_order(pipeline_.spec)) {
    if (stop()) throw Error("stopped on request before the first flow", Fault::cancelled);
    StageRunner& runner = *pipeline_.stages.at(name);
    runner.bind_upstream(upstream_of(pipeline_, name));
    where_it_belongs(runner, [&] { runner.open(run); });
    opened_.push_back(name);
  }
}

bool RunStages::can_omit(const StageRunner& runner, const SchedulePosition& position) const {
  const Description& description = runner.description();
  if (!description.keeps_state) return true;
  return description.state_made_by_flow && can_be_omitted(pipeline_.spec, position, runner.name());
}

void RunStages::load(const std::vector<StageState>& saved, const SchedulePosition& position) {
  for (const std::string& name : opened_) {
    StageRunner& runner = *pipeline_.stages.at(name);
    if (!runner.description().keeps_state) continue;
    const auto state = std::ranges::find(saved, name, &StageState::name);
    if (state == saved.end()) {
      if (runner.description().state_made_by_flow &&
          made_before_read(pipeline_.spec, position, name)) {
        continue;
      }
      throw missing_state(runner);
    }
    if (state->use != runner.type()) {
      refuse("the checkpoint's state for stage '{}' was saved by a {}, but the stage is now a {}",
             name, state->use, runner.type());
    }
    try {
      where_it_belongs(runner, [&] { runner.load(state->archive); });
    } catch (const Error& error) {
      if (error.fault() != Fault::data) throw;
      // The file is intact, so the pipeline or a plugin has changed.
      Error unfit(error.what(), Fault::configuration);
      for (const std::string& step : error.chain()) unfit.while_doing(step);
      throw unfit;
    }
  }
}

StageState RunStages::state_of(const StageRunner& runner) {
  StageState state{runner.name(), runner.type(), {}};
  where_it_belongs(runner, [&] { state.archive = runner.save(); });
  return state;
}

std::vector<StageState> RunStages::save(const SchedulePosition& position,
                                        const std::vector<std::string>& always) {
  std::vector<StageState> states;
  for (const std::string& name : opened_) {
    const StageRunner& runner = *pipeline_.stages.at(name);
    const bool asked_for = runner.description().keeps_state && contains(always, name);
    if (!asked_for && can_omit(runner, position)) continue;
    states.push_back(state_of(runner));
  }
  return states;
}

std::vector<StageState> RunStages::changeable_by(const FlowSpec& flow,
                                                 const SchedulePosition& position) {
  std::vector<StageState> states;
  for (const FlowNode& node : flow.nodes) {
    const StageRunner& runner = *pipeline_.stages.at(node.stage);
    if (can_omit(runner, position)) continue;
    states.push_back(state_of(runner));
  }
  return states;
}

std::vector<Error> RunStages::close() {
  std::vector<Error> errors;
  for (auto name = opened_.rbegin(); name != opened_.rend(); ++name) {
    StageRunner& runner = *pipeline_.stages.at(*name);
    try {
      where_it_belongs(runner, [&] { runner.close(); });
    } catch (const Error& error) {
      errors.push_back(error);
    }
  }
  return errors;
}

}  // namespace seam::host
