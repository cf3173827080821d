/// The messages on the edges of the flow graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "pipeline/graph/budget.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// A split into branches: the packet as it was there, so that their join can tell which branch
/// changed which field.
struct Split {
  Share share;  ///< data that the branches share until they change it, counted once
  Packet before;
  std::size_t branches = 0;
};

/// A packet's way through a split: its branch, or the branches that it was joined from.
struct Fork {
  std::shared_ptr<const Split> split;
  std::size_t branches = 1;           ///< number of the split's branches
  std::shared_ptr<const Fork> outer;  ///< the previous split; null if there is none
};

/// A packet and its place in the budget.
struct Envelope {
  Share share;  ///< destroyed last: capacity is free only when the packet is gone
  std::shared_ptr<const Fork> fork;
  Packet packet;

  /// Counts the data that the packet holds in addition to the data its branches share. An Image or
  /// a tensor that two values refer to is counted for both.
  void account();
  /// Whether branches share the value: the split accounts for it.
  [[nodiscard]] bool shares(const Packet::Slot& slot) const;
};

/// Every edge carries sequence numbers 0, 1, 2, ... without holes: a packet, or a gap if one was
/// dropped, and finally the end, whose number is the number of messages before it.
struct Message {
  enum class Kind : std::uint8_t { packet, gap, end };

  std::uint64_t sequence = 0;
  Kind kind = Kind::gap;
  std::size_t port = 0;                ///< which input of a join
  std::shared_ptr<Envelope> envelope;  ///< of a packet
};

/// Splits a packet's envelope into `count` branches; call branch() once for each. Consumes `whole`.
class Parting {
 public:
  Parting(Envelope& whole, std::size_t count);
  [[nodiscard]] std::shared_ptr<Envelope> branch() const;

 private:
  std::shared_ptr<Ticket> ticket_;
  std::shared_ptr<const Fork> outer_;
  std::shared_ptr<const Split> split_;
};

/// Calls put(i, message) for every i below `count`. Splits the packet if there are several.
template <class Put>
void spread(Message&& message, std::size_t count, const Put& put) {
  if (count == 1) return put(0, std::move(message));
  if (count == 0) return;
  if (message.kind != Message::Kind::packet) {
    for (std::size_t at = 0; at < count; ++at) put(at, Message(message));
    return;
  }
  const Parting parting(*message.envelope, count);
  for (std::size_t at = 0; at < count; ++at) {
    put(at, Message{message.sequence, message.kind, message.port, parting.branch()});
  }
}

}  // namespace seam::host
