#include "pipeline/graph/message.hpp"

#include "pipeline/text/lists.hpp"

namespace seam::host {

void Envelope::account() {
  if (!fork) {
    share.set(static_cast<std::int64_t>(packet.bytes()));
    return;
  }
  std::size_t bytes = sizeof(Packet) + packet.slots().capacity() * sizeof(Packet::Slot);
  for (const Packet::Slot& slot : packet.slots()) {
    if (!shares(slot)) bytes += slot.type->bytes(slot.value.get());
  }
  share.set(static_cast<std::int64_t>(bytes));
}

bool Envelope::shares(const Packet::Slot& slot) const {
  if (!fork) return false;
  const std::vector<Packet::Slot>& shared = fork->split->before.slots();
  return contains(shared, slot.value, &Packet::Slot::value);
}

Parting::Parting(Envelope& whole, std::size_t count)
    : ticket_(whole.share.ticket()),
      outer_(std::move(whole.fork)),
      split_(std::make_shared<const Split>(
          Split{std::move(whole.share), std::move(whole.packet), count})) {}

std::shared_ptr<Envelope> Parting::branch() const {
  auto branch = std::make_shared<Envelope>(Envelope{
      Share(ticket_, 0), std::make_shared<const Fork>(Fork{split_, 1, outer_}), split_->before});
  branch->account();
  return branch;
}

}  // namespace seam::host
