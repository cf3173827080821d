/// State shared by all segments of a running flow: its options, and whether it may continue.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/graph/backward_clock.hpp"
#include "pipeline/graph/budget.hpp"
#include "pipeline/graph/flow.hpp"
#include "pipeline/graph/resumable.hpp"
#include "pipeline/graph/stage_clock.hpp"
#include "seam/ranks.hpp"

namespace seam::host {

/// A packet that failed and is skipped.
struct Skip {
  Origin origin;
  Replay replay = Replay::whole;  ///< of its stage
  std::uint64_t sequence = 0;     ///< the packet's, before the stage
};

class FlowState {
 public:
  /// `flow_options` and `flow_budget` outlive this object.
  FlowState(const FlowOptions& flow_options, RunState run_state, Budget& flow_budget);

  const FlowOptions& options;
  RunState run;
  Budget& budget;
  StageClock clock;  ///< the system clock if there is a call listener
  BackwardClock backward;
  CallMemoryMeter memory;             ///< of the compute thread
  std::uint64_t backward_packet = 0;  ///< in the call that the compute thread is in
  /// Called once, when the flow fails or halts, after discarding() has become true. Must neither
  /// wait nor throw. Set before the flow runs.
  std::function<void()> on_end;

  /// After an error or a stop request, arriving packets are discarded. Returning true also records
  /// that work was left undone.
  [[nodiscard]] bool discarding() const {
    if (!must_discard()) return false;
    curtailed_.store(true, std::memory_order_relaxed);
    return true;
  }
  /// Sets whether a stop request waits for a point.
  void stop_at_point(bool does) { stops_at_point_ = does; }
  [[nodiscard]] bool stop_requested() const {
    return options.stop != nullptr && (options.stop->soon || options.stop->cancel);
  }
  /// Whether ranks have agreed to stop. For the compute thread, on which they agree: all of them
  /// end the flow at the same point.
  [[nodiscard]] bool ranks_shall_stop() const {
    return run.lanes.ranks != nullptr && run.lanes.ranks->shall_stop();
  }
  /// Ends the flow at the point that it has reached.
  void halt();
  /// A source ended after a stop request, perhaps prematurely: the packets in flight continue to
  /// the next point, but the stages are not notified that the flow has ended.
  void cut() { curtailed_ = cut_ = true; }
  [[nodiscard]] bool is_cut() const { return cut_.load(std::memory_order_relaxed); }
  /// Before the flow runs: sets the number of stages that make one batch each and then stop.
  void limit_batches(std::size_t makers) { batches_missing_ = makers; }
  void batch_made() { --batches_missing_; }
  /// Whether all batches are made.
  [[nodiscard]] bool has_batches() const { return batches_missing_ == 0; }
  /// Whether something was left undone.
  [[nodiscard]] bool curtailed() const { return curtailed_; }

  /// The first error wins; later ones are consequences.
  void fail(Error error);
  void skip(const std::string& stage, const Skip& skipped, const Error& error);
  /// The point with the packets skipped before it.
  [[nodiscard]] FlowPoint point(std::uint64_t steps, std::uint64_t inputs) const;
  [[nodiscard]] std::optional<Error> error() const;
  [[nodiscard]] std::uint64_t skipped() const;
  [[nodiscard]] std::vector<Failure> failures() const;

 private:
  [[nodiscard]] bool must_discard() const {
    if (stopped_.load(std::memory_order_relaxed)) return true;
    if (options.stop == nullptr) return false;
    return options.stop->cancel.load(std::memory_order_relaxed) ||
           (options.stop->soon.load(std::memory_order_relaxed) &&
            !stops_at_point_.load(std::memory_order_relaxed));
  }

  /// The position of a skipped packet.
  struct Where {
    Replay replay = Replay::none;
    std::uint64_t sequence = 0;
    [[nodiscard]] bool is_before(std::uint64_t steps, std::uint64_t inputs) const;
  };
  struct Listed {
    Failure failure;
    Where where;
    friend bool operator<(const Listed& a, const Listed& b) { return a.failure < b.failure; }
  };

  std::atomic<bool> stopped_ = false;
  std::atomic<bool> stops_at_point_ = false;
  std::atomic<bool> cut_ = false;
  std::atomic<std::size_t> batches_missing_ = 1;
  mutable std::atomic<bool> curtailed_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
  std::multiset<Listed> failures_;  // of skipped packets, the first in order
  std::vector<Where> skipped_;      // in this process
};

}  // namespace seam::host
