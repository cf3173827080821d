/// The stages of a run from open() to close(), each on the thread where it belongs.
///
///     open    those that others refer to first          close   in the reverse order
///     load    what a checkpoint holds ──► stages         save    stages ──► what it will hold
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/config/load.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/flow_runner.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {

/// The stages that the schedule's flows use and those that they refer to, each after the ones it
/// refers to.
[[nodiscard]] std::vector<std::string> opening_order(const PipelineSpec& spec);

/// The stages upstream of one in the flows that will run, each once.
[[nodiscard]] std::vector<StageRunner*> upstream_of(const CheckedPipeline& pipeline,
                                                    const std::string& name);

class RunStages {
 public:
  /// Both are the caller's and outlive this. Opens nothing yet.
  RunStages(CheckedPipeline& pipeline, FlowRunner& flows) : pipeline_(pipeline), flows_(flows) {}

  /// Opens what the schedule's flows use and what that refers to. Throws what a stage throws, and
  /// seam::Error (cancelled) where `stop` says so before one; opened() are open then.
  void open(const RunState& run, const std::function<bool()>& stop);
  /// Names, in the order of opening.
  [[nodiscard]] const std::vector<std::string>& opened() const { return opened_; }

  /// Gives the stages their saved states. Throws seam::Error (configuration) where the state of a
  /// stage is missing that the schedule needs from `position` on, or does not fit its stage.
  void load(const std::vector<StageState>& saved, const SchedulePosition& position);
  /// The states that a run needs that goes on from `position`; those of `always` whatever the
  /// schedule does with them.
  [[nodiscard]] std::vector<StageState> save(const SchedulePosition& position,
                                             const std::vector<std::string>& always = {});
  /// The states of a flow's stages that it may change although it does not train, and that a run
  /// needs that goes on from `position`. Weights are none of them: only an optimizer changes them.
  [[nodiscard]] std::vector<StageState> changeable_by(const FlowSpec& flow,
                                                      const SchedulePosition& position);

  /// Closes all that are open. Returns what went wrong, in the order in which it did.
  [[nodiscard]] std::vector<Error> close();

  [[nodiscard]] const StageRunner& at(const std::string& name) const {
    return *pipeline_.stages.at(name);
  }
  /// Whether a flow has a stage that trains.
  [[nodiscard]] bool trains(const FlowSpec& flow) const;

 private:
  [[nodiscard]] StageState state_of(const StageRunner& runner);
  void where_it_belongs(const StageRunner& runner, const std::function<void()>& work);
  [[nodiscard]] bool can_do_without(const StageRunner& runner,
                                    const SchedulePosition& position) const;

  CheckedPipeline& pipeline_;
  FlowRunner& flows_;
  std::vector<std::string> opened_;
};

}  // namespace seam::host
