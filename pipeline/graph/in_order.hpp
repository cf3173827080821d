/// Sorts messages by sequence number for a stage that must receive them in order.
///
///     5 3 4 ──► [next = 3, waiting: 5] ──► 3 4 5
///
/// Sequence numbers have no gaps: for a lost packet, a gap message is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace seam::host {

template <class Message>
class InOrder {
 public:
  /// Sets the number of the first message; before any arrives.
  void begin_at(std::uint64_t first) { next_ = first; }
  /// Passes `message` and the messages that waited for it to `handle`, in order, or keeps it.
  template <class Handle>
  void accept(Message&& message, Handle&& handle) {
    if (message.sequence != next_) {
      waiting_.emplace(message.sequence, std::move(message));
      return;
    }
    ++next_;
    handle(std::move(message));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.begin()) {
      Message following = std::move(first->second);
      waiting_.erase(first);
      ++next_;
      handle(std::move(following));
    }
  }

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Message> waiting_;
};

}  // namespace seam::host
