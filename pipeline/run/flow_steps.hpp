/// The steps of the schedule: runs and records flows, and writes checkpoints.
///
///     run_schedule ──► run_flow ──► engine ──► FlowResult ──► recorder, summary, progress line
///                  ──► checkpoint ──► CheckpointKeeper, also notified of points by the engine
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/run/checkpoint_keeper.hpp"
#include "pipeline/run/run_parts.hpp"

namespace seam::host {

/// The state of the run that stages receive.
RunState run_state(const PipelineSpec& spec, const RunOptions& options,
                   const RunDirectory& directory, RunServices& services);

class FlowSteps final : public ScheduleSteps {
 public:
  FlowSteps(const RunParts& parts, RunIdentity identity, Progress progress);

  /// The interrupted flow and its last step; none: the run is between two flows.
  [[nodiscard]] const std::optional<FlowUnderWay>& under_way() const {
    return checkpoints_.under_way();
  }

  FlowEnd run_flow(const std::string& flow, std::int64_t epoch) override;
  [[nodiscard]] bool flow_trains(const std::string& flow) const override;
  [[nodiscard]] bool stop_requested() const override;
  /// For ranks, which cannot stop within a flow that does not train.
  [[nodiscard]] bool wants_checkpoint_before(const std::string& flow) const override;
  [[nodiscard]] std::optional<double> metric(const std::string& name) const override {
    return parts_.services.metrics().value(name);
  }
  [[nodiscard]] std::vector<std::string> metric_names() const override;
  void epoch_begins(std::int64_t epoch) override;
  void epoch_ended(const SchedulePosition& position) override;
  void checkpoint(const SchedulePosition& position) override {
    has_trained_ = false;
    if (parts_.options.writes_checkpoints()) checkpoints_.write_at(position);
  }

 private:
  using Clock = std::chrono::steady_clock;

  FlowResult run_on_engine(const FlowSpec& flow, std::int64_t epoch);
  /// The record of a flow that begins now.
  [[nodiscard]] FlowRecord record_of(const FlowSpec& flow, std::int64_t epoch) const;
  /// Adds the flow to the summary and the files. Returns an error in writing these.
  std::optional<Error> note_flow(const FlowRecord& record, const FlowResult& result);
  /// Adds the flow's metrics to the scores, and writes score.json if there is a headline metric.
  void note_scores(const std::string& flow, std::int64_t epoch);
  [[nodiscard]] std::string place_text(const std::string& flow, std::int64_t epoch) const;
  /// Reports the result of a flow. In a run that trains, flows that neither train nor record a
  /// headline metric, such as one that fills a gallery, are only logged.
  void note_result(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result);
  [[nodiscard]] std::string flow_line(const FlowSpec& flow, std::int64_t epoch,
                                      const FlowResult& result) const;
  [[nodiscard]] std::optional<double> seconds_left() const;
  [[nodiscard]] double seconds_of_epoch() const;

  RunParts parts_;
  CheckpointKeeper checkpoints_;
  bool has_trained_ = false;                              ///< since the last checkpoint
  std::map<std::string, std::uint64_t> finished_before_;  ///< packets of a flow's last run
  std::uint64_t finished_ = 0;                            ///< of the flow that ran last
  Clock::time_point epoch_began_;
  std::optional<double> last_epoch_seconds_;
};

}  // namespace seam::host
