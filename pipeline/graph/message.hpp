/// What goes along the edges inside the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "pipeline/graph/budget.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// Where branches part: the packet as it was there, so that their join can tell who changed what.
struct Split {
  Packet before;
  std::size_t branches = 0;
};

/// A packet's way through a split: the branch that it is in, or those that it was joined from.
struct Fork {
  std::shared_ptr<const Split> split;
  std::size_t branches = 1;           ///< of the split's
  std::shared_ptr<const Fork> outer;  ///< the split before; null where there is none
};

/// A packet and its place in the budget.
struct Envelope {
  Packet packet;
  std::shared_ptr<Ticket> ticket;
  std::shared_ptr<const Fork> fork;
};

/// Every edge carries sequence numbers 0, 1, 2, ... without holes: a packet, or a gap where one was
/// dropped, and at last the end, whose number is the count of all before it.
struct Message {
  enum class Kind : std::uint8_t { packet, gap, end };

  std::uint64_t sequence = 0;
  Kind kind = Kind::gap;
  std::size_t port = 0;                ///< which input of a join
  std::shared_ptr<Envelope> envelope;  ///< of a packet
};

/// Calls put(i, message) for every i below `count`. Where there are several, a packet is split.
template <class Put>
void spread(Message message, std::size_t count, const Put& put) {
  if (count == 0) return;
  if (message.kind != Message::Kind::packet || count == 1) {
    for (std::size_t at = 0; at + 1 < count; ++at) put(at, message);
    put(count - 1, std::move(message));
    return;
  }
  const Envelope& whole = *message.envelope;
  const auto split = std::make_shared<const Split>(Split{whole.packet, count});
  for (std::size_t at = 0; at < count; ++at) {
    Message copy = message;
    copy.envelope = std::make_shared<Envelope>(whole);
    copy.envelope->fork = std::make_shared<const Fork>(Fork{split, 1, whole.fork});
    put(at, std::move(copy));
  }
}

}  // namespace seam::host
