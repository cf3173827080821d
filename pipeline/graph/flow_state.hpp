/// What all segments of a running flow share: how it is to run, and whether it still may.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/graph/budget.hpp"
#include "pipeline/graph/flow.hpp"
#include "pipeline/graph/stage_clock.hpp"

namespace seam::host {

class FlowState {
 public:
  /// `flow_options` and `flow_budget` outlive this object.
  FlowState(const FlowOptions& flow_options, RunState run_state, Budget& flow_budget)
      : options(flow_options),
        run(std::move(run_state)),
        budget(flow_budget),
        clock(flow_options.calls != nullptr ? StageClock::Kind::system
                                            : StageClock::Kind::cheapest) {}

  const FlowOptions& options;
  RunState run;
  Budget& budget;
  StageClock clock;  ///< the system's where somebody listens to calls
  /// Called once, by the thread that fails first, when discarding() is true already. Must neither
  /// wait nor throw. Set before the flow runs.
  std::function<void()> on_failure;

  /// After an error or a cancellation: what still comes is discarded.
  [[nodiscard]] bool discarding() const {
    return stopped_.load(std::memory_order_relaxed) ||
           (options.stop != nullptr && options.stop->cancel.load(std::memory_order_relaxed));
  }
  /// The first error wins; later ones are consequences.
  void fail(Error error);
  void skip(const std::string& stage, const Origin& origin, const Error& error);
  [[nodiscard]] std::optional<Error> error() const;
  [[nodiscard]] std::uint64_t skipped() const;
  [[nodiscard]] std::vector<Failure> failures() const;

 private:
  std::atomic<bool> stopped_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
  std::multiset<Failure> failures_;  // of those that were skipped, the first in order
  std::int64_t skipped_ = 0;
};

}  // namespace seam::host
