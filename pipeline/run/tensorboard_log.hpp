/// What a run writes for TensorBoard, in `tensorboard --logdir runs`.
///
///     a flow ends ──► metrics ──► scalars    train/loss.loss, evaluate/recall.none.r@1
///                 ──► what stages drew ──► pictures
///     checkpoint after an epoch ──► histograms of weights
///
/// All stand on one axis: the training steps of the whole run or, where nothing trains, its epochs.
/// Steps count what is done: the first batch's loss is at 1, an evaluation after 64 batches at 64.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/graph/flow.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/event_file.hpp"
#include "pipeline/run/flow_record.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/run/services.hpp"
#include "pipeline/tensorboard/event.hpp"

namespace seam::host {

enum class StepAxis : std::uint8_t { training_steps, epochs };

/// The metrics of a flow as scalars, in the order of their steps.
struct ScalarsAtStep {
  std::int64_t step = 0;
  std::vector<tensorboard::Scalar> scalars;

  friend bool operator==(const ScalarsAtStep&, const ScalarsAtStep&) = default;
};

/// A metric that was recorded at each of a flow's `steps` has its values there, which come after
/// `before`. One recorded less often is spread over them, of one recorded more often each step has
/// the mean; without steps, or where values have no order, the flow's end has the mean of all.
[[nodiscard]] std::vector<ScalarsAtStep> scalars_of(const std::vector<RecordedSeries>& series,
                                                    const std::string& flow, std::int64_t before,
                                                    std::int64_t steps);

class TensorBoardLog {
 public:
  /// Begins an event file in the run's folder, at the checkpoint `from` or, where it is null, at
  /// the run's beginning. The services are the caller's and outlive this.
  TensorBoardLog(std::filesystem::path run, TensorBoardSpec spec, StepAxis axis,
                 const Checkpoint* from, RunServices& services);

  // All throw seam::Error where the file cannot be written.
  /// What stages recorded when they were opened.
  void opened(const std::vector<RecordedSeries>& series);
  /// Nothing is written of half a flow that does not train: its means would be of other data.
  void flow_ended(const FlowRecord& record, const std::vector<RecordedSeries>& series,
                  const FlowResult& result);
  /// Before the checkpoint is written; what precedes is on the disk then.
  void checkpoint(const Checkpoint& checkpoint);

 private:
  void add_pictures(const FlowRecord& record, const tensorboard::Moment& moment);
  void add_histograms(const Checkpoint& checkpoint, const tensorboard::Moment& moment);
  /// Says of patterns that match nothing, and of tensors that have no histogram, what is the case.
  void tell_of_patterns(const Checkpoint& checkpoint);
  [[nodiscard]] std::int64_t step_of(const Checkpoint& checkpoint) const;

  std::filesystem::path run_;
  TensorBoardSpec spec_;
  StepAxis axis_;
  RunServices& services_;
  EventFile file_;
  std::int64_t drawn_epochs_;  ///< the last ones after which there were histograms
  bool told_ = false;          ///< of patterns
};

}  // namespace seam::host
