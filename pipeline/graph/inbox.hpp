/// The queue before a serial node.
///
///     put ─┐                    one task at a time
///     put ─┼──► [m m m m m] ──► drain: all that waits, then all that came meanwhile
///     put ─┘
///
/// A task a message, as a TBB node spawns it, costs more than a small stage does; a task that takes
/// all that waits makes a hop between busy stages cheap and changes nothing between slow ones.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "pipeline/graph/message.hpp"
#include "pipeline/graph/queue_count.hpp"

namespace seam::host {

class Inbox {
 public:
  /// `count`: is told how many messages wait; outlives the inbox, may be null.
  explicit Inbox(QueueCount* count = nullptr) : count_(count) {}

  /// Returns whether the caller must now see to it that drain() runs.
  [[nodiscard]] bool put(Message&& message) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(message));
    if (count_ != nullptr) count_->enter();
    return !std::exchange(active_, true);
  }

  /// Hands over messages in the order they came until none waits.
  template <class Handle>
  void drain(Handle&& handle) {
    while (true) {
      taken_.clear();
      {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
          active_ = false;
          return;
        }
        taken_.swap(waiting_);
      }
      for (Message& message : taken_) {
        if (count_ != nullptr) count_->leave();
        handle(std::move(message));
      }
    }
  }

 private:
  QueueCount* count_;
  std::mutex mutex_;
  std::vector<Message> waiting_;
  bool active_ = false;
  // Of the one drain at a time; kept for its memory, away from what put() writes.
  alignas(64) std::vector<Message> taken_;
};

}  // namespace seam::host
