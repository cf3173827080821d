/// Counts outstanding work in a flow: tasks, compute-thread work, and sources waiting for capacity.
/// The thread that runs the flow sleeps until the count is zero; tbb::flow::graph::wait_for_all
/// would burn a core while it waits for the compute thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace seam::host {

class Activity {
 public:
  void begin() { count_.fetch_add(1, std::memory_order_relaxed); }
  void end() {
    if (count_.fetch_sub(1) == 1) {
      const std::lock_guard lock(mutex_);
      quiet_.notify_all();
    }
  }
  /// Returns whether there is no work left, now or within the given time.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return quiet_.wait_for(lock, time, [this] { return count_.load() == 0; });
  }

 private:
  std::atomic<std::int64_t> count_ = 0;
  std::mutex mutex_;
  std::condition_variable quiet_;
};

}  // namespace seam::host
