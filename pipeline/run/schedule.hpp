/// Runs the flows of a schedule in order, and decides when to stop early.
///
///     before ──► epoch 0: flow, flow ──► checkpoint ──► epoch 1 ... ──► after
///                                 └──► metric no better for `patience` measurements ──┘
///
/// Depends neither on TBB nor on files: the caller implements the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

/// The flows due in an epoch (from 0), in order.
std::vector<std::string> flows_of_epoch(const ScheduleSpec& schedule, std::int64_t epoch);
/// The other flows of the epochs, in order: those that do not train still run, after the flows that
/// are due, if stop_early ends the run with this epoch.
std::vector<std::string> flows_not_due(const ScheduleSpec& schedule, std::int64_t epoch);

/// The best epoch according to `keep`.
struct BestKept {
  std::string metric;
  double value = 0;
  std::int64_t epochs = 0;  ///< epochs done when it was measured

  friend bool operator==(const BestKept&, const BestKept&) = default;
};

/// A position between two flows of a run.
struct SchedulePosition {
  bool before_done = false;
  std::int64_t epochs_done = 0;
  std::int64_t flows_done = 0;  ///< in the current part: `before`, this epoch, or `after`
  bool stopped_early = false;
  std::optional<double> best;        ///< of the metric that stop_early watches
  std::int64_t best_epochs = 0;      ///< epochs done when the best was measured
  std::int64_t without_gain = 0;     ///< measurements since the best
  std::int64_t epochs_measured = 0;  ///< how many measurements there were
  bool after_done = false;
  std::optional<BestKept> best_kept;  ///< none: not measured, or `keep` has no metric

  friend bool operator==(const SchedulePosition&, const SchedulePosition&) = default;
};

/// The part of the schedule in which a flow runs: "before", "epoch-0003" or "after".
std::string moment_text(const ScheduleSpec& schedule, const SchedulePosition& position,
                        std::int64_t epoch);

/// Returns whether a flow belongs to the epochs, and not only to `before` or `after`.
bool in_epochs(const ScheduleSpec& schedule, const std::string& flow);

/// Throws seam::Error (configuration) if the pipeline has no such flow.
const FlowSpec& flow_named(const PipelineSpec& spec, const std::string& name);

/// Returns whether the schedule is complete.
bool is_complete(const ScheduleSpec& schedule, const SchedulePosition& position);

/// Notes a measurement after epoch `position.epochs_done`. Returns whether to stop. NaN does not
/// count as an improvement.
bool note_measurement(const StopEarly& rule, double value, SchedulePosition& position);

/// Notes the value of `keep`'s metric after epoch `position.epochs_done`; NaN is never the best.
void note_kept(const KeepRule& rule, double value, SchedulePosition& position);

/// Epochs done when the best checkpoint was written, according to `keep`, or else to stop_early.
[[nodiscard]] std::optional<std::int64_t> best_epochs(const SchedulePosition& position);

/// The steps that a schedule executes.
class ScheduleSteps {
 public:
  virtual ~ScheduleSteps() = default;

  enum class FlowEnd : std::uint8_t { complete, stopped };

  /// Runs a flow; throws seam::Error if it fails.
  virtual FlowEnd run_flow(const std::string& flow, std::int64_t epoch) = 0;
  [[nodiscard]] virtual bool flow_trains(const std::string& flow) const = 0;
  /// Returns whether the run should stop before its next flow.
  [[nodiscard]] virtual bool stop_requested() const = 0;
  /// Returns whether a checkpoint should be written before the flow, which cannot be stopped.
  [[nodiscard]] virtual bool wants_checkpoint_before(const std::string& flow) const = 0;
  /// The mean of "stage.metric" over its flow in the epoch that just ended.
  [[nodiscard]] virtual std::optional<double> metric(const std::string& name) const = 0;
  /// Names of all metrics recorded so far, for a message.
  [[nodiscard]] virtual std::vector<std::string> metric_names() const = 0;
  /// Also called if the run resumes within the epoch.
  virtual void epoch_begins(std::int64_t epoch) = 0;
  virtual void epoch_ended(const SchedulePosition& position) = 0;
  virtual void checkpoint(const SchedulePosition& position) = 0;
};

enum class ScheduleEnd : std::uint8_t { complete, stopped };

/// Continues from `position` to the end or until a stop request, and updates `position`. Writes a
/// checkpoint on a stop request between two flows; for a flow that is stopped, the caller has to do
/// that. Throws seam::Error (configuration) that lists the recorded metrics if the metric of
/// stop_early or keep is never recorded.
ScheduleEnd run_schedule(const ScheduleSpec& schedule, SchedulePosition& position,
                         ScheduleSteps& steps);

}  // namespace seam::host
