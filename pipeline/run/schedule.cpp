#include "pipeline/run/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace {

/// Returns whether every flow of the epochs has run since the epoch `from`, in which this process
/// began.
bool all_had_a_turn(const ScheduleSpec& schedule, std::int64_t from, std::int64_t epochs_done) {
  return epochs_done >= schedule.epochs ||
         std::ranges::all_of(schedule.each_epoch, [from, epochs_done](const ScheduledFlow& flow) {
           return epochs_done / flow.every > from / flow.every;
         });
}

[[noreturn]] void refuse_unrecorded(const std::string& metric, const std::string& who,
                                    const std::vector<std::string>& recorded) {
  refuse("{} '{}', which no stage has recorded{}\nrecorded so far: {}", who, metric,
         suggestion(metric, recorded), recorded.empty() ? "nothing" : enumerated(recorded));
}

/// Reads the metric after an epoch. Returns whether to stop.
bool measure(const ScheduleSpec& schedule, std::int64_t from, SchedulePosition& position,
             const ScheduleSteps& steps) {
  if (!schedule.stop_early) return false;
  if (const auto value = steps.metric(schedule.stop_early->metric)) {
    return note_measurement(*schedule.stop_early, *value, position);
  }
  if (position.epochs_measured == 0 && all_had_a_turn(schedule, from, position.epochs_done)) {
    refuse_unrecorded(schedule.stop_early->metric, "stop_early watches", steps.metric_names());
  }
  return false;
}

/// The same for the metric that selects the checkpoint to keep.
void measure_kept(const ScheduleSpec& schedule, std::int64_t from, SchedulePosition& position,
                  const ScheduleSteps& steps) {
  const std::string& metric = schedule.keep.best;
  if (metric.empty()) return;
  if (const auto value = steps.metric(metric)) {
    note_kept(schedule.keep, *value, position);
  } else if (!position.best_kept && all_had_a_turn(schedule, from, position.epochs_done)) {
    const std::vector<std::string> recorded = steps.metric_names();
    if (!contains(recorded, metric)) {
      refuse_unrecorded(metric, "keep = { best = ... } names", recorded);
    }
  }
}

/// Runs the remaining flows. Returns `stopped` if one was stopped, or on a stop request before the
/// next.
ScheduleEnd run_flows(const std::vector<std::string>& flows, std::int64_t epoch,
                      SchedulePosition& position, ScheduleSteps& steps) {
  while (position.flows_done < std::ssize(flows)) {
    if (steps.stop_requested()) {
      if (position.flows_done > 0) steps.checkpoint(position);
      return ScheduleEnd::stopped;
    }
    const std::string& flow = flows[static_cast<std::size_t>(position.flows_done)];
    if (steps.wants_checkpoint_before(flow)) steps.checkpoint(position);
    if (steps.run_flow(flow, epoch) == ScheduleSteps::FlowEnd::stopped) return ScheduleEnd::stopped;
    ++position.flows_done;
  }
  position.flows_done = 0;
  return ScheduleEnd::complete;
}

/// Runs the rest of the epoch `position.epochs_done`, and measures. If this ends the run early,
/// flows that only measure and were not due follow, so that the final weights are measured; within
/// these flows, a position is still in the epoch, but out of patience.
ScheduleEnd run_epoch(const ScheduleSpec& schedule, std::int64_t from, SchedulePosition& position,
                      ScheduleSteps& steps) {
  const std::int64_t epoch = position.epochs_done;
  std::vector<std::string> flows = flows_of_epoch(schedule, epoch);
  const bool has_measured =
      schedule.stop_early && position.without_gain >= schedule.stop_early->patience;
  if (!has_measured) {
    if (run_flows(flows, epoch, position, steps) == ScheduleEnd::stopped) {
      return ScheduleEnd::stopped;
    }
    ++position.epochs_done;
    if (!measure(schedule, from, position, steps)) return ScheduleEnd::complete;
    --position.epochs_done;
    position.flows_done = std::ssize(flows);
  }
  std::ranges::copy_if(flows_not_due(schedule, epoch), std::back_inserter(flows),
                       [&](const std::string& flow) { return !steps.flow_trains(flow); });
  if (run_flows(flows, epoch, position, steps) == ScheduleEnd::stopped) return ScheduleEnd::stopped;
  ++position.epochs_done;
  position.stopped_early = true;
  return ScheduleEnd::complete;
}

bool is_due(const ScheduleSpec& schedule, const ScheduledFlow& flow, std::int64_t epoch) {
  return (epoch + 1) % flow.every == 0 || epoch + 1 == schedule.epochs;
}

}  // namespace

std::vector<std::string> flows_of_epoch(const ScheduleSpec& schedule, std::int64_t epoch) {
  std::vector<std::string> flows;
  for (const ScheduledFlow& scheduled : schedule.each_epoch) {
    if (is_due(schedule, scheduled, epoch)) flows.push_back(scheduled.flow);
  }
  return flows;
}

std::vector<std::string> flows_not_due(const ScheduleSpec& schedule, std::int64_t epoch) {
  std::vector<std::string> flows;
  for (const ScheduledFlow& scheduled : schedule.each_epoch) {
    if (!is_due(schedule, scheduled, epoch)) flows.push_back(scheduled.flow);
  }
  return flows;
}

std::string moment_text(const ScheduleSpec& schedule, const SchedulePosition& position,
                        std::int64_t epoch) {
  if (!position.before_done) return "before";
  if (position.stopped_early || position.epochs_done >= schedule.epochs) return "after";
  return fmt::format("epoch-{:04}", epoch);
}

bool in_epochs(const ScheduleSpec& schedule, const std::string& flow) {
  return contains(schedule.each_epoch, flow, &ScheduledFlow::flow);
}

const FlowSpec& flow_named(const PipelineSpec& spec, const std::string& name) {
  const auto found = std::ranges::find(spec.flows, name, &FlowSpec::name);
  if (found == spec.flows.end()) {
    refuse("the schedule names a flow '{}' that the pipeline does not have", name);
  }
  return *found;
}

bool is_complete(const ScheduleSpec& schedule, const SchedulePosition& position) {
  const bool epochs = position.epochs_done >= schedule.epochs || position.stopped_early;
  return position.before_done && epochs && (position.after_done || schedule.after.empty());
}

bool note_measurement(const StopEarly& rule, double value, SchedulePosition& position) {
  ++position.epochs_measured;
  const bool better = !std::isnan(value) &&
                      (!position.best || (rule.goal == Goal::highest ? value > *position.best
                                                                     : value < *position.best));
  if (better) {
    position.best = value;
    position.best_epochs = position.epochs_done;
    position.without_gain = 0;
    return false;
  }
  return ++position.without_gain >= rule.patience;
}

void note_kept(const KeepRule& rule, double value, SchedulePosition& position) {
  if (std::isnan(value)) return;
  const std::optional<BestKept>& best = position.best_kept;
  const bool better =
      !best || (rule.better == Better::higher ? value > best->value : value < best->value);
  if (better) position.best_kept = {rule.best, value, position.epochs_done};
}

std::optional<std::int64_t> best_epochs(const SchedulePosition& position) {
  if (position.best_kept) return position.best_kept->epochs;
  return position.best ? std::optional(position.best_epochs) : std::nullopt;
}

ScheduleEnd run_schedule(const ScheduleSpec& schedule, SchedulePosition& position,
                         ScheduleSteps& steps) {
  if (!position.before_done) {
    if (run_flows(schedule.before, 0, position, steps) == ScheduleEnd::stopped)
      return ScheduleEnd::stopped;
    position.before_done = true;
    if (!schedule.before.empty()) steps.checkpoint(position);
  }
  const std::int64_t from = position.epochs_done;
  while (position.epochs_done < schedule.epochs && !position.stopped_early) {
    if (steps.stop_requested()) return ScheduleEnd::stopped;
    steps.epoch_begins(position.epochs_done);
    if (run_epoch(schedule, from, position, steps) == ScheduleEnd::stopped) {
      return ScheduleEnd::stopped;
    }
    measure_kept(schedule, from, position, steps);
    steps.epoch_ended(position);
    const bool last = position.epochs_done == schedule.epochs || position.stopped_early;
    const bool best = best_epochs(position) == position.epochs_done;
    if (last || best || position.epochs_done % schedule.checkpoint_every.epochs == 0 ||
        steps.stop_requested()) {
      steps.checkpoint(position);
    }
  }
  if (is_complete(schedule, position)) return ScheduleEnd::complete;
  const std::int64_t last_epoch = std::max<std::int64_t>(position.epochs_done - 1, 0);
  if (run_flows(schedule.after, last_epoch, position, steps) == ScheduleEnd::stopped) {
    return ScheduleEnd::stopped;
  }
  position.after_done = true;
  steps.checkpoint(position);
  return ScheduleEnd::complete;
}

}  // namespace seam::host
