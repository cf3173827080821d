#include "pipeline/run/checkpoint_keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/run/class_names.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {

CheckpointKeeper::CheckpointKeeper(const RunParts& parts, RunIdentity identity, Progress progress)
    : parts_(parts),
      identity_(std::move(identity)),
      trainings_(progress.trainings),
      training_steps_(progress.training_steps),
      under_way_(std::move(progress.under_way)) {}

Checkpoint CheckpointKeeper::frame(const SchedulePosition& position) const {
  Checkpoint checkpoint;
  checkpoint.position = position;
  const Recorder::Sizes sizes = parts_.recorder.sizes();
  checkpoint.metrics_size = sizes.metrics;
  checkpoint.timing_size = sizes.timing;
  checkpoint.skipped_size = sizes.skipped;
  checkpoint.skipped_packets = parts_.summary.skipped_packets;
  checkpoint.trainings = trainings_;
  checkpoint.training_steps = training_steps_;
  checkpoint.means = parts_.services.metrics().means();
  if (position.flows_done > 0) checkpoint.epoch_means = parts_.services.metrics().of_this_epoch();
  checkpoint.pipeline = identity_.pipeline;
  checkpoint.plugins = identity_.plugins;
  checkpoint.numerics = identity_.numerics;
  checkpoint.best_by = identity_.best_by;
  checkpoint.chosen = identity_.chosen;
  checkpoint.classes = trained_classes(parts_.pipeline);
  checkpoint.listings = listings_of(parts_.pipeline, parts_.stages.opened());
  return checkpoint;
}

void CheckpointKeeper::write_at(const SchedulePosition& position) {
  // While a resumed flow runs, its checkpoint stays the newest: the stages have loaded states from
  // within that flow.
  if (under_way_) return;
  Checkpoint checkpoint = frame(position);
  checkpoint.stages = parts_.stages.save(position);
  write(checkpoint);
}

void CheckpointKeeper::flow_begins(const FlowSpec& flow) {
  if (under_way_ && under_way_->flow != flow.name) {
    refuse(
        "the checkpoint was written within flow '{}', but at this point the schedule in "
        "resolved.toml runs flow '{}'; restore resolved.toml",
        under_way_->flow, flow.name);
  }
  flow_ = flow.name;
  trains_ = trains(parts_.pipeline, flow);
  start_ = frame(parts_.summary.position);
  start_states_.clear();
  if (!trains_) start_states_ = parts_.stages.changeable_by(flow, start_.position);
  kept_ = under_way_.has_value();
  due_ = false;
  obstacle_.clear();
}

void CheckpointKeeper::flow_ended(std::int64_t steps) {
  under_way_.reset();
  if (trains_) ++trainings_;
  training_steps_ += steps;
}

void CheckpointKeeper::flow_stopped() {
  if (!parts_.options.writes_checkpoints()) return;
  if (!trains_) {
    keep_start();
  } else if (!kept_) {
    parts_.services.warn(fmt::format(
        "the work of flow '{}' since the last checkpoint is lost and will be repeated: {}", flow_,
        obstacle_.empty() ? "it was stopped at a point at which its stages cannot be paused"
                          : obstacle_));
  }
}

void CheckpointKeeper::write(const Checkpoint& checkpoint) {
  try {
    parts_.recorder.checkpoint(checkpoint);
    CheckpointFolder(parts_.directory.checkpoints())
        .write(checkpoint, parts_.pipeline.spec.schedule.keep.last);
  } catch (Error& error) {
    error.while_doing("writing checkpoint " + to_text(name_of(checkpoint)));
    throw;
  }
  last_checkpoint_ = parts_.options.now();
}

bool CheckpointKeeper::wants_point(std::uint64_t steps) {
  if (!parts_.options.writes_checkpoints()) return false;
  const CheckpointEvery& every = parts_.pipeline.spec.schedule.checkpoint_every;
  constexpr double seconds_a_minute = 60;
  due_ = due_ || (every.steps && steps % static_cast<std::uint64_t>(*every.steps) == 0) ||
         (every.minutes &&
          std::chrono::duration<double>(parts_.options.now() - last_checkpoint_).count() >=
              *every.minutes * seconds_a_minute);
  return due_;
}

std::string CheckpointKeeper::keep(const FlowPoint& point, const PointStages& stages) {
  const Metrics& metrics = parts_.services.metrics();
  for (const auto& [stage, recorded] : metrics.recorded_by(stages.passed_over)) {
    return fmt::format("stage '{}' records metrics for packets that a resumed run would skip",
                       stage);
  }
  if (parts_.pipeline.spec.max_error_share) {
    return "`max_errors` is a fraction, which can only be checked over a whole flow";
  }
  Checkpoint checkpoint = start_;
  if (point.steps > 0) {
    checkpoint.flow = FlowUnderWay{flow_, point, metrics.recorded_by(stages.in_step)};
  } else if (nothing_done()) {
    kept_ = true;
    return {};
  }
  if (parts_.options.writes_checkpoints()) {  // all ranks stop at the same point
    checkpoint.stages = parts_.stages.save(start_.position, stages.in_step);
    write(checkpoint);
  }
  under_way_ = std::move(checkpoint.flow);
  kept_ = true;
  due_ = false;
  return {};
}

void CheckpointKeeper::going_on(const PointStages& stages) {
  parts_.services.metrics().put_back(stages.in_step, under_way_->recorded);
  passed_over_ = stages.passed_over;
}

void CheckpointKeeper::leave_out_partial_metrics() {
  Metrics& metrics = parts_.services.metrics();
  for (const auto& [stage, recorded] : metrics.recorded_by(passed_over_)) {
    parts_.services.warn(
        fmt::format("the metrics of stage '{}' in flow '{}' are omitted this time: the flow was "
                    "resumed, so they would cover only the packets after that point",
                    stage, flow_));
  }
  metrics.put_back(passed_over_, {});
  passed_over_.clear();
}

void CheckpointKeeper::cannot_keep(const std::string& why) {
  const std::lock_guard lock(obstacle_mutex_);
  obstacle_ = why;
  if (!told_.insert(flow_).second) return;
  const std::string text = fmt::format(
      "no checkpoints can be written within flow '{}', so it is repeated after a stop: {}", flow_,
      why);
  const CheckpointEvery& every = parts_.pipeline.spec.schedule.checkpoint_every;
  if (every.steps || every.minutes) {
    parts_.services.warn(text);
  } else {
    parts_.services.note(text);
  }
}

bool CheckpointKeeper::nothing_done() const {
  const SchedulePosition& position = start_.position;
  const bool past_before = position.before_done && !parts_.pipeline.spec.schedule.before.empty();
  return !past_before && position.epochs_done == 0 && position.flows_done == 0;
}

void CheckpointKeeper::keep_start() {
  if (nothing_done()) return;
  Checkpoint checkpoint = start_;
  checkpoint.stages = parts_.stages.save(start_.position);
  for (StageState& state : checkpoint.stages) {
    const auto before = std::ranges::find(start_states_, state.name, &StageState::name);
    if (before != start_states_.end()) state = *before;
  }
  write(checkpoint);
}

}  // namespace seam::host
