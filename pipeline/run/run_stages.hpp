/// The stages of a run from open() to close(), each on its own thread.
///
///     open    referenced stages first                   close   in reverse order
///     load    states in a checkpoint ──► stages         save    stages ──► states for a checkpoint
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/config/load.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {

/// The stages of the scheduled flows and those that they refer to, each after the ones it refers
/// to.
[[nodiscard]] std::vector<std::string> opening_order(const PipelineSpec& spec);

/// Whether the stage has weights that optimizers train.
[[nodiscard]] bool is_trainable(const Description& description);

/// The stages upstream of one in the flows that will run, each once.
[[nodiscard]] std::vector<StageRunner*> upstream_of(const CheckedPipeline& pipeline,
                                                    const std::string& name);

class RunStages {
 public:
  /// Both outlive this object. Opens no stages yet.
  RunStages(CheckedPipeline& pipeline, FlowRunner& flows) : pipeline_(pipeline), flows_(flows) {}

  /// Opens the stages of the scheduled flows and those that they refer to. Rethrows exceptions of
  /// stages, and throws seam::Error (cancelled) if `stop` returns true before a stage; opened() are
  /// open then.
  void open(const RunState& run, const std::function<bool()>& stop);
  /// Names, in the order of opening.
  [[nodiscard]] const std::vector<std::string>& opened() const { return opened_; }

  /// Loads the saved states into the stages. Throws seam::Error (configuration) if a state that the
  /// schedule needs from `position` on is missing, or if a state does not fit its stage.
  void load(const std::vector<StageState>& saved, const SchedulePosition& position);
  /// Returns the states that a run needs to continue from `position`, and those of the stages in
  /// `always`.
  [[nodiscard]] std::vector<StageState> save(const SchedulePosition& position,
                                             const std::vector<std::string>& always = {});
  /// Returns the states that a flow may change although it does not train, and that a run needs to
  /// continue from `position`.
  [[nodiscard]] std::vector<StageState> changeable_by(const FlowSpec& flow,
                                                      const SchedulePosition& position);

  /// Closes all open stages. Returns the errors in order of occurrence.
  [[nodiscard]] std::vector<Error> close();

  [[nodiscard]] const StageRunner& at(const std::string& name) const {
    return *pipeline_.stages.at(name);
  }

 private:
  [[nodiscard]] StageState state_of(const StageRunner& runner);
  void where_it_belongs(const StageRunner& runner, const std::function<void()>& work);
  /// Returns whether a checkpoint at `position` can omit the stage's state.
  [[nodiscard]] bool can_omit(const StageRunner& runner, const SchedulePosition& position) const;

  CheckedPipeline& pipeline_;
  FlowRunner& flows_;
  std::vector<std::string> opened_;
};

}  // namespace seam::host
