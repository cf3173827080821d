/// Writes a run's checkpoints: between its flows, and within those that train.
///
///     schedule ──► write_at                      after an epoch, or when stopped between two flows
///     engine   ──► wants_point ──► keep          between two steps of a training flow
///     a flow that does not train is stopped ──► keep_start
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/run_parts.hpp"

namespace seam::host {

class CheckpointKeeper final : public FlowKeeper {
 public:
  /// The parts outlive this object.
  CheckpointKeeper(const RunParts& parts, RunIdentity identity, Progress progress);

  void write_at(const SchedulePosition& position);

  /// Throws seam::Error (configuration) if the checkpoint was written within another flow.
  void flow_begins(const FlowSpec& flow);
  /// For a resumed flow: omits the metrics of stages that received only the packets after the
  /// point, because they do not cover the whole flow.
  void leave_out_partial_metrics();
  /// `steps`: training steps of the flow.
  void flow_ended(std::int64_t steps);
  /// Makes sure that there is a checkpoint from which the stopped flow can resume, or warns why
  /// not.
  void flow_stopped();

  /// The point at which a flow was interrupted; none: the run is between two flows.
  [[nodiscard]] const std::optional<FlowUnderWay>& under_way() const { return under_way_; }
  /// Number of training flows of the run that have ended.
  [[nodiscard]] std::int64_t trainings() const { return trainings_; }
  /// Number of their steps.
  [[nodiscard]] std::int64_t training_steps() const { return training_steps_; }

  [[nodiscard]] bool wants_point(std::uint64_t steps) override;
  [[nodiscard]] std::string keep(const FlowPoint& point, const PointStages& stages) override;
  void going_on(const PointStages& stages) override;
  void cannot_keep(const std::string& why) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// A checkpoint of the run's progress, without the states of stages.
  [[nodiscard]] Checkpoint frame(const SchedulePosition& position) const;
  /// Writes the checkpoint after syncing the line files to disk.
  void write(const Checkpoint& checkpoint);
  /// Writes a checkpoint of the run before the flow that was stopped.
  void keep_start();
  /// Returns whether the flow is the run's first, so that its start needs no checkpoint.
  [[nodiscard]] bool nothing_done() const;

  const RunParts& parts_;
  RunIdentity identity_;
  std::int64_t trainings_;
  std::int64_t training_steps_;
  std::optional<FlowUnderWay> under_way_;
  Clock::time_point last_checkpoint_ = parts_.options.now();

  // For the running flow.
  std::string flow_;
  bool trains_ = false;
  Checkpoint start_;                      // the run before the flow
  std::vector<StageState> start_states_;  // states that the flow changes and no later flow rebuilds
  std::vector<std::string> passed_over_;  // stages that receive only the rest of a resumed flow
  bool kept_ = false;                     // the newest checkpoint is of this flow
  bool due_ = false;                      // a checkpoint is due after the next possible step
  std::mutex obstacle_mutex_;             // guards the two below
  std::string obstacle_;                  // why there are no checkpoints within it
  std::set<std::string> told_;            // flows for which this was reported
};

}  // namespace seam::host
