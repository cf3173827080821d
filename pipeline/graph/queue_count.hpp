/// The number of messages waiting before a segment, and its maximum.
///
/// Producers and consumers write to separate counters. A producer reads the consumers' counter only
/// if the queue may be longer than ever before; with one producer at a time, the maximum is exact.
#pragma once

#include <atomic>
#include <cstdint>

namespace seam::host {

class QueueCount {
 public:
  /// A message arrives.
  void enter() {
    const std::uint64_t entered = entered_.fetch_add(1, std::memory_order_relaxed) + 1;
    std::uint64_t most = most_.load(std::memory_order_relaxed);
    if (entered <= left_seen_.load(std::memory_order_relaxed) + most) return;
    const std::uint64_t left = left_.load(std::memory_order_relaxed);
    left_seen_.store(left, std::memory_order_relaxed);
    while (entered > left + most &&
           !most_.compare_exchange_weak(most, entered - left, std::memory_order_relaxed)) {
    }
  }
  /// A message is taken.
  void leave() { left_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t waiting() const {
    const std::uint64_t left = left_.load(std::memory_order_relaxed);  // first: never above entered
    const std::uint64_t entered = entered_.load(std::memory_order_relaxed);
    return entered > left ? entered - left : 0;
  }
  [[nodiscard]] std::uint64_t most() const { return most_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> entered_ = 0;
  std::atomic<std::uint64_t> most_ = 0;
  std::atomic<std::uint64_t> left_seen_ = 0;
  alignas(64) std::atomic<std::uint64_t> left_ = 0;
};

}  // namespace seam::host
