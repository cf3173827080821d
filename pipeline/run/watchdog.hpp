/// Detects that a flow makes no progress, and reports the activity of its stages.
///
///     look, look, look ...            nothing done since the last look?  ──► for too long?
///     (separate thread)                                                       ──► one message
///
/// It only reports: a stage may need the time, and code that hangs in a library cannot be stopped
/// from outside. The message shows which stage is responsible.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/graph/flow.hpp"

namespace seam::host {

/// Detects long periods without a change: at the limit, then at twice that, and so on.
class StallClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  StallClock(std::chrono::nanoseconds limit, Time now) : limit_(limit), next_(limit), since_(now) {}

  /// `done`: any number that changes with progress. Returns the time without a change if it should
  /// be reported now.
  std::optional<std::chrono::nanoseconds> look(std::uint64_t done, Time now);

 private:
  std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds next_;
  Time since_;
  std::uint64_t done_ = 0;
};

/// The message for users: which stages are working, which are waiting, and for what. `place`: "flow
/// 'train' in epoch 2 of 4".
std::string stall_text(const std::string& place, double seconds,
                       const std::vector<StageActivity>& activity, const LimitSpec& limits);

/// The message if a cancelled run does not end: which stages have not returned. `run_directory`:
/// empty if there is none yet.
std::string overdue_text(const std::vector<StageActivity>& activity,
                         const std::string& run_directory);

/// Looks at a running flow until it is destroyed.
class Watchdog {
 public:
  /// `progress` must outlive it; `say` is called from the watchdog's thread.
  Watchdog(std::string place, const FlowProgress& progress, const LimitSpec& limits,
           std::function<void(const std::string&)> say);

 private:
  std::jthread thread_;
};

}  // namespace seam::host
