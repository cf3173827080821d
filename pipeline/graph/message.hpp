/// What goes along the edges inside the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "pipeline/graph/budget.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// The packet as it was where branches parted, so that their join can tell who changed what.
struct Fork {
  Packet before;
  std::shared_ptr<const Fork> outer;
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

/// Calls put(i, message) for every i below `count`. Where there are several, a packet is forked.
template <class Put>
void spread(Message message, std::size_t count, const Put& put) {
  if (count == 0) return;
  const bool forked = message.kind == Message::Kind::packet && count > 1;
  if (forked) {
    Envelope& envelope = *message.envelope;
    envelope.fork = std::make_shared<const Fork>(Fork{envelope.packet, envelope.fork});
  }
  for (std::size_t at = 0; at + 1 < count; ++at) {
    Message copy = message;
    if (forked) copy.envelope = std::make_shared<Envelope>(*message.envelope);
    put(at, std::move(copy));
  }
  put(count - 1, std::move(message));
}

}  // namespace seam::host
