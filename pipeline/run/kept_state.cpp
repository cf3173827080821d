#include "pipeline/run/kept_state.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

/// How a flow uses the state of a stage.
enum class Use : std::uint8_t { none, makes, reads };

/// The stages that refer to this one, directly or through others.
std::set<std::string> readers_of(const PipelineSpec& spec, const std::string& stage) {
  std::set<std::string> read{stage};
  for (bool more = true; more;) {
    more = false;
    for (const StageSpec& other : spec.stages) {
      const bool reads = std::ranges::any_of(
          other.references, [&](const auto& reference) { return read.contains(reference.second); });
      if (reads && read.insert(other.name).second) more = true;
    }
  }
  read.erase(stage);
  return read;
}

/// The future of one stage's state.
class Future {
 public:
  Future(const PipelineSpec& spec, const std::string& stage)
      : spec_(spec), stage_(stage), readers_(readers_of(spec, stage)) {}

  /// How the first of these flows that uses the state uses it.
  [[nodiscard]] Use first_use(const std::vector<std::string>& flows) const {
    for (const std::string& flow : flows) {
      if (const Use use = use_of(flow_named(spec_, flow)); use != Use::none) return use;
    }
    return Use::none;
  }

 private:
  [[nodiscard]] Use use_of(const FlowSpec& flow) const {
    Use use = Use::none;
    for (const FlowNode& node : flow.nodes) {
      if (readers_.contains(node.stage)) return Use::reads;
      if (node.stage == stage_) use = Use::makes;
    }
    return use;
  }

  const PipelineSpec& spec_;  // the caller owns both
  const std::string& stage_;
  std::set<std::string> readers_;
};

/// The flows without the first `done`.
std::vector<std::string> left_of(std::vector<std::string> flows, std::int64_t done) {
  const auto count = std::min<std::int64_t>(done, std::ssize(flows));
  flows.erase(flows.begin(), flows.begin() + count);
  return flows;
}

}  // namespace

bool made_before_read(const PipelineSpec& spec, const SchedulePosition& position,
                      const std::string& stage) {
  const ScheduleSpec& schedule = spec.schedule;
  const Future future(spec, stage);
  const bool in_before = !position.before_done;
  const bool in_after =
      !in_before && (position.stopped_early || position.epochs_done >= schedule.epochs);
  if (in_before) {
    const auto left = left_of(schedule.before, position.flows_done);
    if (const Use use = future.first_use(left); use != Use::none) return use == Use::makes;
  }
  const auto left_after = left_of(schedule.after, in_after ? position.flows_done : 0);
  const Use after = position.after_done ? Use::none : future.first_use(left_after);
  const std::vector<std::string> in_epochs = mapped(schedule.each_epoch, &ScheduledFlow::flow);
  // Skip the epochs if no flow in them uses the state: there may be many epochs.
  if (!position.stopped_early && future.first_use(in_epochs) != Use::none) {
    for (std::int64_t epoch = position.epochs_done; epoch < schedule.epochs; ++epoch) {
      const bool now = epoch == position.epochs_done && !in_before;
      const std::int64_t done = now ? position.flows_done : 0;
      const auto due = flows_of_epoch(schedule, epoch);
      if (const Use use = future.first_use(left_of(due, done)); use != Use::none) {
        return use == Use::makes;
      }
      if (!schedule.stop_early) continue;
      // The run may end here.
      const auto rest = flows_not_due(schedule, epoch);
      if (after == Use::reads || future.first_use(rest) == Use::reads) return false;
      // Within them, how many are left is unknown here, because those that train do not run.
      for (std::int64_t run = 1; done > std::ssize(due) && run < std::ssize(rest); ++run) {
        if (future.first_use(left_of(rest, run)) == Use::reads) return false;
      }
    }
  }
  return after != Use::reads;
}

bool can_be_omitted(const PipelineSpec& spec, const SchedulePosition& position,
                    const std::string& stage) {
  if (!made_before_read(spec, position, stage)) return false;
  const ScheduleSpec& schedule = spec.schedule;
  const bool in_epoch =
      position.flows_done > 0 && !position.stopped_early && position.epochs_done < schedule.epochs;
  if (!position.before_done || in_epoch) return true;  // other runs start between epochs
  const Future future(spec, stage);
  Use first = Use::none;    // in epochs of which none is the last
  Use in_last = Use::none;  // in one that runs all flows
  std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
  for (const ScheduledFlow& flow : schedule.each_epoch) {
    const Use use = future.first_use({flow.flow});
    if (use == Use::none) continue;
    if (in_last == Use::none) in_last = use;
    const std::int64_t epoch = (position.epochs_done / flow.every + 1) * flow.every;
    if (epoch >= nearest) continue;
    nearest = epoch;
    first = use;
  }
  if (first == Use::none) first = future.first_use(schedule.after);
  return first != Use::reads && in_last != Use::reads;
}

}  // namespace seam::host
