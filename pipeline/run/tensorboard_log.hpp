/// The data that a run writes for TensorBoard (`tensorboard --logdir runs`).
///
///     a flow ends ──► metrics ──► scalars    train/loss.loss, evaluate/recall.none.r@1
///                 ──► images drawn by stages
///     checkpoint after an epoch ──► histograms of weights
///
/// All use one axis: the training steps of the whole run or, if no flow trains, its epochs. Steps
/// count finished batches: the first batch's loss is at 1, an evaluation after 64 batches at 64.
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

/// A metric that was recorded at each of a flow's `steps`, which come after `before`, has its
/// values there. A metric recorded less often is spread over the steps; for one recorded more
/// often, each step has a mean. Without steps, or if the values have no order, the flow's end has
/// the mean of all.
[[nodiscard]] std::vector<ScalarsAtStep> scalars_of(const std::vector<RecordedSeries>& series,
                                                    const std::string& flow, std::int64_t before,
                                                    std::int64_t steps);

class TensorBoardLog {
 public:
  /// Starts an event file in the run folder, at the checkpoint `from` or, if it is null, at the
  /// beginning of the run. The services outlive this object.
  TensorBoardLog(std::filesystem::path run, TensorBoardSpec spec, StepAxis axis,
                 const Checkpoint* from, RunServices& services);

  // All throw seam::Error if the file cannot be written.
  /// Writes the values that stages recorded when they were opened.
  void opened(const std::vector<RecordedSeries>& series);
  /// Writes nothing for a partial flow that does not train: its means would cover different data.
  void flow_ended(const FlowRecord& record, const std::vector<RecordedSeries>& series,
                  const FlowResult& result);
  /// To be called before the checkpoint is written; syncs the file to disk.
  void checkpoint(const Checkpoint& checkpoint);

 private:
  void add_pictures(const FlowRecord& record, const tensorboard::Moment& moment);
  void add_histograms(const Checkpoint& checkpoint, const tensorboard::Moment& moment);
  /// Reports patterns without matches, and tensors without histograms.
  void tell_of_patterns(const Checkpoint& checkpoint);

  std::filesystem::path run_;
  TensorBoardSpec spec_;
  StepAxis axis_;
  RunServices& services_;
  EventFile file_;
  std::int64_t drawn_epochs_;  ///< epochs done at the last histograms
  bool told_ = false;          ///< patterns were reported
};

}  // namespace seam::host
