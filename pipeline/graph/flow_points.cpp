#include "pipeline/graph/flow_points.hpp"

#include <algorithm>
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

void FlowPoints::cannot(const StageRunner& collector) {
  collector_cannot_ = true;
  cannot_pause(collector);
}

void FlowPoints::cannot_pause(const StageRunner& stage) {
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

std::optional<std::uint64_t> FlowPoints::inputs_of(std::uint64_t steps) const {
  const std::lock_guard lock(mutex_);
  const auto found = inputs_.find(steps);
  return found == inputs_.end() ? std::nullopt : std::optional(found->second);
}

void FlowPoints::stand_at(std::uint64_t steps, StepLane::Boundary boundary) {
  if (state_.discarding()) return;
  try {
    if (!given_up_) keep_or_stop(steps, boundary);
    if (state_.ranks_shall_stop() && ranks_end_at(steps)) state_.halt();
  } catch (const Error& error) {
    state_.fail(error);
  } catch (const std::exception& error) {
    state_.fail(Error(error.what(), Fault::internal));
  }
}

void FlowPoints::keep_or_stop(std::uint64_t steps, StepLane::Boundary boundary) {
  // At once, so that a stage that cannot be suspended is reported early.
  if (!std::exchange(asked_, true) && pause_of_step() == Pause::unsupported) return;
  forget_before(steps);
  const bool stop = state_.stop_requested() || state_.ranks_shall_stop();
  const bool ended = boundary == StepLane::Boundary::ended;
  if (!stop && !(ended && keeper_.wants_point(steps))) return;
  if (steps == state_.options.from.steps) {  // nothing was done yet
    if (steps == 0 && pause_of_step() == Pause::ready) keep(0, 0);
    state_.halt();
    return;
  }
  const auto inputs = inputs_of(steps);
  if (!inputs || pause_of_step() != Pause::ready) return;
  keep(steps, *inputs);
  if (stop && !given_up_) state_.halt();
}

bool FlowPoints::ranks_end_at(std::uint64_t steps) {
  // given_up_ may depend on the timing of a rank's threads.
  const Pause pause = pause_of_step();
  return pause == Pause::unsupported ||
         (pause == Pause::ready && (collector_cannot_ || inputs_of(steps)));
}

Pause FlowPoints::pause_of_step() {
  Pause least = Pause::ready;
  for (StageRunner* stage : in_step_) {
    const Pause pause = stage->pause(state_.run).pause;
    if (pause == Pause::unsupported) cannot_pause(*stage);
    least = std::min(least, pause);
  }
  return least;
}

void FlowPoints::keep(std::uint64_t steps, std::uint64_t inputs) {
  const std::string why = keeper_.keep(state_.point(steps, inputs), names_);
  if (!why.empty()) give_up(why);
}

}  // namespace seam::host
