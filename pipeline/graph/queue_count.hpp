/// The number of messages waiting before a segment, and its maximum.
///
/// Producer and consumer write to separate counters. The maximum is exact nevertheless: the
/// consumer's counter is read only if the queue may be longer than ever before.
#pragma once

#include <atomic>
#include <cstdint>

namespace seam::host {

class QueueCount {
 public:
  /// A message arrives; one thread at a time.
  void enter() {
    const std::uint64_t entered = entered_.load(std::memory_order_relaxed) + 1;
    entered_.store(entered, std::memory_order_relaxed);
    if (entered - left_seen_ <= most_.load(std::memory_order_relaxed)) return;
    left_seen_ = left_.load(std::memory_order_relaxed);
    raise(entered - left_seen_);
  }
  /// A message is taken; one thread at a time.
  void leave() {
    left_.store(left_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // The same for queues with many producers and consumers.
  void enter_shared() {
    const std::uint64_t entered = entered_.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t left = left_.load(std::memory_order_relaxed);
    if (entered > left) raise(entered - left);
  }
  void leave_shared() { left_.fetch_add(1, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t waiting() const {
    const std::uint64_t left = left_.load(std::memory_order_relaxed);  // first: never above entered
    const std::uint64_t entered = entered_.load(std::memory_order_relaxed);
    return entered > left ? entered - left : 0;
  }
  [[nodiscard]] std::uint64_t most() const { return most_.load(std::memory_order_relaxed); }

 private:
  void raise(std::uint64_t waiting) {
    if (waiting > most_.load(std::memory_order_relaxed)) {
      most_.store(waiting, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint64_t> entered_ = 0;
  std::atomic<std::uint64_t> most_ = 0;
  std::uint64_t left_seen_ = 0;
  alignas(64) std::atomic<std::uint64_t> left_ = 0;
};

}  // namespace seam::host
