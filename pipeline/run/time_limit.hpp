/// Asks a run to stop when its time is up, as a first signal does (stop_signals.hpp).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "pipeline/graph/flow.hpp"

namespace seam::host {

/// "3h", "90m", "45s" or "1h30m": whole numbers, the larger unit first; at least a second.
[[nodiscard]] std::optional<std::chrono::seconds> duration_of(std::string_view text);

class TimeLimit {
 public:
  /// `told` is called on another thread when the time is up, unless somebody else has asked before.
  /// `stop` outlives this object.
  TimeLimit(StopState& stop, std::chrono::milliseconds limit, std::function<void()> told);

 private:
  void wait(const std::stop_token& end, std::chrono::milliseconds limit);

  StopState& stop_;
  std::function<void()> told_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: joined before the others go
};

}  // namespace seam::host
