/// Notices that a flow stands still, and says where.
///
///     look, look, look ...            nothing done since the last look?  ──► for too long?
///     (a thread of its own)                                                   ──► one message
///
/// It only speaks: a stage may need its time, and what hangs in a library cannot be stopped from
/// outside. Who reads the message knows which stage to blame.
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

/// Tells when too long has passed without a change: at the limit, then at twice that, and so on.
class StallClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  StallClock(std::chrono::nanoseconds limit, Time now) : limit_(limit), next_(limit), since_(now) {}

  /// `done` is any number that changes when something happens. Returns how long nothing has, where
  /// that is to be said now.
  std::optional<std::chrono::nanoseconds> look(std::uint64_t done, Time now);

 private:
  std::chrono::nanoseconds limit_;
  std::chrono::nanoseconds next_;
  Time since_;
  std::uint64_t done_ = 0;
};

/// What a person is told: which stages are at work, which wait and for what. `place` is "flow
/// 'train' in epoch 2 of 4".
std::string stall_text(const std::string& place, double seconds,
                       const std::vector<StageActivity>& activity, const LimitSpec& limits);

/// What is said where a cancelled run does not end: which stages have not returned.
/// `run_directory`: empty where there is none yet.
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
