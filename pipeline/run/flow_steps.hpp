/// What each step of the schedule does: runs a flow and records it, writes a checkpoint.
///
///     run_schedule ──► run_flow ──► engine ──► FlowResult ──► recorder, summary, a line for people
///                  ──► checkpoint ──► CheckpointKeeper, which the engine tells of points as well
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

/// What stages are told of the run.
RunState run_state(const PipelineSpec& spec, const RunOptions& options,
                   const RunDirectory& directory, RunServices& services);

class FlowSteps final : public ScheduleSteps {
 public:
  FlowSteps(const RunParts& parts, RunIdentity identity, Progress progress);

  /// The step after which a flow was left, and that flow; none: the run stands between two flows.
  [[nodiscard]] const std::optional<FlowUnderWay>& under_way() const {
    return checkpoints_.under_way();
  }

  FlowEnd run_flow(const std::string& flow, std::int64_t epoch) override;
  [[nodiscard]] bool stop_requested() const override { return parts_.services.stop_requested(); }
  [[nodiscard]] std::optional<double> metric(const std::string& name) const override {
    return parts_.services.metrics().value(name);
  }
  [[nodiscard]] std::vector<std::string> metric_names() const override;
  void epoch_begins(std::int64_t epoch) override;
  void epoch_ended(const SchedulePosition& position) override;
  void checkpoint(const SchedulePosition& position) override {
    if (parts_.options.extent == Extent::whole) checkpoints_.write_at(position);
  }

 private:
  using Clock = std::chrono::steady_clock;

  FlowResult run_on_engine(const FlowSpec& flow, std::int64_t epoch);
  /// What the files say of a flow that begins now.
  [[nodiscard]] FlowRecord record_of(const FlowSpec& flow, std::int64_t epoch) const;
  /// Adds the flow to the summary and the files; what went wrong with those.
  std::optional<Error> note_flow(const FlowRecord& record, const FlowResult& result);
  /// Takes up what a flow recorded, and writes score.json where a headline was among it.
  void note_scores(const std::string& flow, std::int64_t epoch);
  [[nodiscard]] std::string place_text(const std::string& flow, std::int64_t epoch) const;
  /// Says what a flow did. In a run that trains, flows such as one that fills a gallery, which
  /// neither train nor record a headline, are only in the log.
  void note_result(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result);
  [[nodiscard]] std::string flow_line(const FlowSpec& flow, std::int64_t epoch,
                                      const FlowResult& result) const;
  [[nodiscard]] std::optional<double> seconds_left() const;
  [[nodiscard]] double seconds_of_epoch() const;

  RunParts parts_;
  CheckpointKeeper checkpoints_;
  std::map<std::string, std::uint64_t> finished_before_;  ///< packets of a flow's last run
  std::uint64_t finished_ = 0;                            ///< of the flow that ran last
  Clock::time_point epoch_began_;
  std::optional<double> last_epoch_seconds_;
};

}  // namespace seam::host
