#include "pipeline/graph/flow_points.hpp"

#include <exception>
#include <utility>

namespace seam::host {

FlowPoints::FlowPoints(FlowState& state, const Resumable& resumable,
                       const std::vector<StageRunner*>& stages)
    : state_(state), keeper_(*state.options.keeper) {
  for (std::size_t node = 0; node < stages.size(); ++node) {
    StageRunner* stage = stages[node];
    switch (resumable.replay[node]) {
      case Replay::whole:
        break;
      case Replay::inputs:
      case Replay::batches:
        names_.passed_over.push_back(stage->name());
        break;
      case Replay::none:
        names_.in_step.push_back(stage->name());
        in_step_.push_back(stage);
        break;
    }
  }
  state_.stop_at_point(true);
}

void FlowPoints::made(std::uint64_t steps, std::uint64_t inputs) {
  const std::lock_guard lock(mutex_);
  inputs_.emplace(steps, inputs);
}

void FlowPoints::cannot(const StageRunner& stage) {
  give_up("stage '" + stage.name() + "' (" + stage.type() + ") cannot be paused within a flow");
}

void FlowPoints::give_up(const std::string& why) {
  if (given_up_.exchange(true)) return;
  state_.stop_at_point(false);
  keeper_.cannot_keep(why);
}

void FlowPoints::forget_before(std::uint64_t steps) {
  const std::lock_guard lock(mutex_);
  inputs_.erase(inputs_.begin(), inputs_.lower_bound(steps));
}

bool FlowPoints::find(std::uint64_t steps, std::uint64_t& inputs) const {
  const std::lock_guard lock(mutex_);
  const auto found = inputs_.find(steps);
  if (found != inputs_.end()) inputs = found->second;
  return found != inputs_.end();
}

void FlowPoints::stand_at(std::uint64_t steps, StepLane::Boundary boundary) {
  if (given_up_ || state_.discarding()) return;
  if (!std::exchange(asked_, true)) {
    try {
      (void)all_ready();  // so that a stage that cannot be suspended is reported early
    } catch (const Error& error) {
      state_.fail(error);
      return;
    }
  }
  forget_before(steps);
  const bool stop = state_.stop_requested() || state_.ranks_shall_stop();
  const bool ended = boundary == StepLane::Boundary::ended;
  if (!stop && !(ended && keeper_.wants_point(steps))) return;
  std::uint64_t inputs = 0;
  try {
    if (steps == state_.options.from.steps) {  // nothing was done yet
      if (steps == 0 && all_ready()) keep(0, 0);
      state_.halt();
      return;
    }
    if (!find(steps, inputs) || !all_ready()) return;
    keep(steps, inputs);
  } catch (const Error& error) {
    state_.fail(error);
    return;
  } catch (const std::exception& error) {
    state_.fail(Error(error.what(), Fault::internal));
    return;
  }
  if (stop && !given_up_) state_.halt();
}

bool FlowPoints::all_ready() {
  bool ready = true;
  for (StageRunner* stage : in_step_) {
    const Pause pause = stage->pause(state_.run).pause;
    if (pause == Pause::unsupported) {
      cannot(*stage);
      return false;
    }
    ready = ready && pause == Pause::ready;
  }
  return ready;
}

void FlowPoints::keep(std::uint64_t steps, std::uint64_t inputs) {
  const std::string why = keeper_.keep(state_.point(steps, inputs), names_);
  if (!why.empty()) give_up(why);
}

}  // namespace seam::host
