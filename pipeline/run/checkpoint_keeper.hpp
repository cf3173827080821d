/// Writes a run's checkpoints: between its flows, and within those that train.
///
///     schedule ──► write_at                      after an epoch, or before a flow that is not
///     begun engine   ──► wants_point ──► keep          between two steps a flow that does not
///     train is stopped ──► what was before it
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

  /// Throws seam::Error (configuration) where the run is to go on within another flow.
  void flow_begins(const FlowSpec& flow);
  /// Of a flow that went on from a point: metrics of stages that saw the packets behind it alone
  /// are none of the flow's.
  void leave_out_partial_metrics();
  /// `steps`: of training.
  void flow_ended(std::int64_t steps);
  /// Sees to a checkpoint from which the stopped flow goes on, or says why there is none.
  void flow_stopped();

  /// The point at which a flow was left; none: the run stands between two flows.
  [[nodiscard]] const std::optional<FlowUnderWay>& under_way() const { return under_way_; }
  /// Flows of the run that trained and ended.
  [[nodiscard]] std::int64_t trainings() const { return trainings_; }
  /// Their steps.
  [[nodiscard]] std::int64_t training_steps() const { return training_steps_; }

  [[nodiscard]] bool wants_point(std::uint64_t steps) override;
  [[nodiscard]] std::string keep(const FlowPoint& point, const PointStages& stages) override;
  void going_on(const PointStages& stages) override;
  void cannot_keep(const std::string& why) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// A checkpoint without the states of stages: what the run has come to.
  [[nodiscard]] Checkpoint frame(const SchedulePosition& position) const;
  /// Writes it, when the line files are on the disk.
  void write(const Checkpoint& checkpoint);
  /// Writes where the run stood before the flow that was stopped.
  void keep_start();
  /// Whether the flow is the run's first, so that its start needs no checkpoint.
  [[nodiscard]] bool nothing_done() const;

  const RunParts& parts_;
  RunIdentity identity_;
  std::int64_t trainings_;
  std::int64_t training_steps_;
  std::optional<FlowUnderWay> under_way_;
  Clock::time_point last_checkpoint_ = parts_.options.now();

  // Of the flow that runs.
  std::string flow_;
  bool trains_ = false;
  Checkpoint start_;                      // where the run stood before it
  std::vector<StageState> start_states_;  // of what it changes and nothing makes anew
  std::vector<std::string> passed_over_;  // stages that a resumed flow shows its tail alone
  bool kept_ = false;                     // the newest checkpoint is of this flow
  bool due_ = false;                      // one is, after the next step that allows it
  std::mutex obstacle_mutex_;             // guards the two below
  std::string obstacle_;                  // why there are none within it
  std::set<std::string> told_;            // flows of which the user knows that they have none
};

}  // namespace seam::host
