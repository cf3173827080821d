/// The points at which a running flow can be suspended, and what happens there.
///
///     batch: number 6 is made of all packets before 224 ──► made(7, 224)
///     lane:  7 steps are done ──► stop wanted, or checkpoint due? ──► all stages ready? ──► keep
///
/// A stop request ends the flow at its next point, or at once if it turns out to have none. Ranks
/// that agree to stop end it after the same step, even if some of them cannot keep its point.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/graph/flow_state.hpp"
#include "pipeline/graph/resumable.hpp"
#include "pipeline/graph/step.hpp"

namespace seam::host {

class FlowPoints {
 public:
  /// `stages`: by node. All of these outlive this object; the state's options have a keeper.
  FlowPoints(FlowState& state, const Resumable& resumable, const std::vector<StageRunner*>& stages);

  [[nodiscard]] const PointStages& stages() const { return names_; }
  /// The collector made the last of `steps` batches from the packets before `inputs`, and holds no
  /// other packets.
  void made(std::uint64_t steps, std::uint64_t inputs);
  /// The collector cannot be suspended within the flow. Called before its first batch is sent.
  void cannot(const StageRunner& collector);
  /// Called on the compute thread when `steps` batches are done and the next has not begun.
  void stand_at(std::uint64_t steps, StepLane::Boundary boundary);

 private:
  void forget_before(std::uint64_t steps);
  /// The `inputs` of made(); none if the collector made no such batch.
  [[nodiscard]] std::optional<std::uint64_t> inputs_of(std::uint64_t steps) const;
  void keep_or_stop(std::uint64_t steps, StepLane::Boundary boundary);
  /// Whether the stages of the step can be suspended now: the least answer of all of them.
  [[nodiscard]] Pause pause_of_step();
  /// Whether ranks that have agreed to stop end the flow here: on all of them alike.
  [[nodiscard]] bool ranks_end_at(std::uint64_t steps);
  void cannot_pause(const StageRunner& stage);
  void keep(std::uint64_t steps, std::uint64_t inputs);
  void give_up(const std::string& why);

  FlowState& state_;
  FlowKeeper& keeper_;
  std::vector<StageRunner*> in_step_;
  PointStages names_;
  bool asked_ = false;  // pause_of_step(), once; on the compute thread
  std::atomic<bool> given_up_ = false;
  std::atomic<bool> collector_cannot_ = false;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> inputs_;  // by steps, for future points
};

}  // namespace seam::host
