/// The queue before a serial node.
///
///     put ─┐                    one task at a time
///     put ─┼──► [m m m m m] ──► drain: all waiting messages, then those that arrived meanwhile
///     put ─┘
///
/// One task per message, as spawned by a TBB node, costs more than a small stage. A task that takes
/// all waiting messages makes a hop between busy stages cheap, and makes no difference between slow
/// stages.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "pipeline/graph/message.hpp"

namespace seam::host {

class Inbox {
 public:
  /// Returns whether the caller must make sure that drain() runs.
  [[nodiscard]] bool put(Message&& message) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(message));
    return !std::exchange(active_, true);
  }

  /// Passes messages to `handle` in order of arrival until none is left.
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
      for (Message& message : taken_) handle(std::move(message));
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Message> waiting_;
  bool active_ = false;
  // Used by one drain() at a time; kept to reuse its memory, on another cache line than put()
  // writes.
  alignas(64) std::vector<Message> taken_;
};

}  // namespace seam::host
