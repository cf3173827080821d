/// What each step of the schedule does: runs a flow and records it, writes a checkpoint.
///
///     run_schedule ──► run_flow ──► engine ──► FlowResult ──► recorder, summary, a line for people
///                                     └──► keep: a checkpoint within the flow
///                  ──► checkpoint ──► stages' states, the recorder's sizes ──► one file
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/recorder.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/scores.hpp"
#include "pipeline/run/services.hpp"
#include "pipeline/run/trace.hpp"

namespace seam::host {

/// The parts of a run that its flows need; all are the run's and outlive the steps.
struct RunParts {
  CheckedPipeline& pipeline;
  const RunOptions& options;
  Display& display;
  FlowRunner& flows;
  const RunDirectory& directory;
  RunServices& services;
  RunStages& stages;
  Recorder& recorder;
  Scores& scores;
  RunSummary& summary;  ///< flows, skipped packets and the ledger's sentences are added to it
  Trace* trace;         ///< null: none
};

/// What a checkpoint says of the run that writes it.
struct RunIdentity {
  std::string pipeline_hash;
  std::string plugins;
  std::string numerics;
};

/// What stages are told of the run.
RunState run_state(const PipelineSpec& spec, const RunOptions& options,
                   const RunDirectory& directory, RunServices& services);

class FlowSteps final : public ScheduleSteps, private FlowKeeper {
 public:
  /// `trainings`: flows that trained and ended before, in earlier processes. `under_way`: the flow
  /// that the run goes on within.
  FlowSteps(const RunParts& parts, RunIdentity identity, std::int64_t trainings,
            std::optional<FlowUnderWay> under_way);

  /// The step after which a flow was left, and that flow; none: the run stands between two flows.
  [[nodiscard]] const std::optional<FlowUnderWay>& under_way() const { return under_way_; }

  FlowEnd run_flow(const std::string& flow, std::int64_t epoch) override;
  [[nodiscard]] bool stop_requested() const override { return parts_.services.stop_requested(); }
  [[nodiscard]] std::optional<double> metric(const std::string& name) const override {
    return parts_.services.metrics().value(name);
  }
  [[nodiscard]] std::vector<std::string> metric_names() const override;
  void epoch_begins(std::int64_t epoch) override;
  void epoch_ended(const SchedulePosition& position) override;
  void checkpoint(const SchedulePosition& position) override;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool wants_point(std::uint64_t steps) override;
  [[nodiscard]] std::string keep(const FlowPoint& point, const PointStages& stages) override;
  void going_on(const PointStages& stages) override;
  void cannot_keep(const std::string& why) override;
  [[nodiscard]] bool keeps_within_flows() const;

  /// A checkpoint without the states of stages: what the run has come to.
  [[nodiscard]] Checkpoint frame(const SchedulePosition& position) const;
  /// Writes it, when the line files are on the disk.
  void write(const Checkpoint& checkpoint);
  /// Writes where the run stood before the flow, which was stopped and did not train.
  void keep_start();
  void tell_nothing_kept();
  /// Whether the flow that runs is the first, so that its start needs no checkpoint.
  [[nodiscard]] bool nothing_done() const;
  FlowResult run_on_engine(const FlowSpec& flow, std::int64_t epoch);
  /// Adds the flow to the summary and the files; what went wrong with those.
  std::optional<Error> note_flow(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result,
                                 std::chrono::system_clock::time_point began);
  /// Takes up what a flow recorded, and writes score.json where a headline was among it.
  void note_scores(const std::string& flow, std::int64_t epoch);
  [[nodiscard]] std::string place_text(const std::string& flow, std::int64_t epoch) const;
  [[nodiscard]] std::string flow_line(const FlowSpec& flow, std::int64_t epoch,
                                      const FlowResult& result) const;
  [[nodiscard]] std::optional<double> seconds_left() const;

  RunParts parts_;
  RunIdentity identity_;
  std::int64_t trainings_;
  std::map<std::string, std::uint64_t> finished_before_;  ///< packets of a flow's last run
  std::uint64_t finished_ = 0;                            ///< of the flow that ran last
  std::optional<FlowUnderWay> under_way_;
  Checkpoint start_;                      ///< of the flow that runs
  std::string flow_;                      ///< the one that runs
  std::vector<StageState> start_states_;  ///< of what the flow changes and nothing makes anew
  bool kept_ = false;                     ///< the newest checkpoint is of the flow that runs
  bool step_due_ = false;                 ///< a checkpoint is, after the next step that allows it
  std::string obstacle_;                  ///< why there are none within the flow that runs
  std::set<std::string> told_;            ///< flows of which the user knows that they have none
  std::mutex obstacle_mutex_;
  Clock::time_point last_checkpoint_ = Clock::now();
  Clock::time_point epoch_began_;
  std::optional<double> last_epoch_seconds_;
};

}  // namespace seam::host
