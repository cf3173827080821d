/// Which flow runs when, and when a run has seen enough.
///
///     before ──► epoch 0: flow, flow ──► checkpoint ──► epoch 1 ... ──► after
///                                 └──► metric no better for `patience` measurements ──┘
///
/// Knows neither TBB nor files: what a step does is the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

/// The flows due in an epoch (from 0), in order.
std::vector<std::string> flows_of_epoch(const ScheduleSpec& schedule, std::int64_t epoch);

/// The best epoch by the rule that keeps its checkpoint.
struct BestKept {
  std::string metric;
  double value = 0;
  std::int64_t epochs = 0;  ///< epochs done when it was measured

  friend bool operator==(const BestKept&, const BestKept&) = default;
};

/// Where a run stands between two flows.
struct SchedulePosition {
  bool before_done = false;
  std::int64_t epochs_done = 0;
  std::int64_t flows_done = 0;  ///< of those due now: in `before`, in this epoch, or in `after`
  bool stopped_early = false;
  std::optional<double> best;        ///< of the metric that stop_early watches
  std::int64_t best_epochs = 0;      ///< epochs done when the best was measured
  std::int64_t without_gain = 0;     ///< measurements since the best
  std::int64_t epochs_measured = 0;  ///< how many measurements there were
  bool after_done = false;
  std::optional<BestKept> best_kept;  ///< none: nothing was measured, or `keep` names no metric

  friend bool operator==(const SchedulePosition&, const SchedulePosition&) = default;
};

/// When in the schedule a flow runs: "before", "epoch-0003" or "after".
std::string moment_text(const ScheduleSpec& schedule, const SchedulePosition& position,
                        std::int64_t epoch);

/// Whether a flow belongs to the epochs, and not only to what comes before and after them.
bool in_epochs(const ScheduleSpec& schedule, const std::string& flow);

/// Throws seam::Error (configuration) where the pipeline has no such flow.
const FlowSpec& flow_named(const PipelineSpec& spec, const std::string& name);

/// Whether nothing of the schedule is left to do.
bool is_complete(const ScheduleSpec& schedule, const SchedulePosition& position);

/// Notes a measurement after epoch `position.epochs_done`; true: time to stop. A value that is no
/// number is no gain.
bool note_measurement(const StopEarly& rule, double value, SchedulePosition& position);

/// Notes what `keep` measures after epoch `position.epochs_done`; NaN is never the best.
void note_kept(const KeepRule& rule, double value, SchedulePosition& position);

/// Epochs done when the best checkpoint was written: by `keep`, or else by what stop_early watches.
[[nodiscard]] std::optional<std::int64_t> best_epochs(const SchedulePosition& position);

/// What a schedule asks to be done.
class ScheduleSteps {
 public:
  virtual ~ScheduleSteps() = default;
  ScheduleSteps() = default;
  ScheduleSteps(const ScheduleSteps&) = delete;
  ScheduleSteps& operator=(const ScheduleSteps&) = delete;
  ScheduleSteps(ScheduleSteps&&) = delete;
  ScheduleSteps& operator=(ScheduleSteps&&) = delete;

  enum class FlowEnd : std::uint8_t { complete, stopped };

  /// Runs a flow; throws seam::Error where it fails.
  virtual FlowEnd run_flow(const std::string& flow, std::int64_t epoch) = 0;
  /// Whether the run is to end before its next flow.
  [[nodiscard]] virtual bool stop_requested() const = 0;
  /// The mean of "stage.metric" over its flow in the epoch that just ended.
  [[nodiscard]] virtual std::optional<double> metric(const std::string& name) const = 0;
  /// Names of all metrics recorded so far, for a message.
  [[nodiscard]] virtual std::vector<std::string> metric_names() const = 0;
  /// Also where the run goes on within the epoch.
  virtual void epoch_begins(std::int64_t epoch) = 0;
  virtual void epoch_ended(const SchedulePosition& position) = 0;
  virtual void checkpoint(const SchedulePosition& position) = 0;
};

enum class ScheduleEnd : std::uint8_t { complete, stopped };

/// Goes on from `position` to the end or until asked to stop, and keeps it up to date. A request
/// between two flows is answered by a checkpoint; what is kept of a flow that was stopped is the
/// caller's matter. Throws seam::Error (configuration)
/// where the metric of stop_early or keep is never recorded, naming those that are.
ScheduleEnd run_schedule(const ScheduleSpec& schedule, SchedulePosition& position,
                         ScheduleSteps& steps);

}  // namespace seam::host
