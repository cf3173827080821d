#include "pipeline/graph/join.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace seam::host {
namespace {

bool goes_back_to(const Fork* fork, const Fork* to) {
  while (fork != nullptr && fork != to) fork = fork->outer.get();
  return fork == to;
}

const Packet::Slot* slot_of(const Packet& packet, std::string_view name) {
  const auto found = std::ranges::find(packet.slots(), name, &Packet::Slot::name);
  return found == packet.slots().end() ? nullptr : &*found;
}

/// Whether `a` has the field as it was where it parted from `b`, which has changed it since.
bool is_overtaken(std::string_view name, const Envelope& a, const Envelope& b) {
  const Fork* fork = a.fork.get();
  while (fork != nullptr && !goes_back_to(b.fork.get(), fork)) fork = fork->outer.get();
  if (fork == nullptr) return false;
  const Packet::Slot* before = slot_of(fork->before, name);
  const Packet::Slot* mine = slot_of(a.packet, name);
  const Packet::Slot* other = slot_of(b.packet, name);
  return before != nullptr && other != nullptr && mine->value == before->value &&
         other->value != before->value;
}

Packet merged_packet(const std::vector<Message>& inputs) {
  Packet packet = inputs.front().envelope->packet;
  for (const Message& input : inputs) {
    for (const Packet::Slot& slot : input.envelope->packet.slots()) {
      const bool overtaken = std::ranges::any_of(inputs, [&](const Message& other) {
        return is_overtaken(slot.name, *input.envelope, *other.envelope);
      });
      if (!overtaken) packet.put(slot);
    }
  }
  return packet;
}

/// The fork that is left behind when all inputs have met: what was around it is still open.
std::shared_ptr<const Fork> still_open(const std::vector<Message>& inputs) {
  const Fork* fork = inputs.front().envelope->fork.get();
  const auto is_common = [&](const Fork* candidate) {
    return std::ranges::all_of(inputs, [&](const Message& input) {
      return goes_back_to(input.envelope->fork.get(), candidate);
    });
  };
  while (fork != nullptr && !is_common(fork)) fork = fork->outer.get();
  return fork == nullptr ? nullptr : fork->outer;
}

}  // namespace

std::optional<Message> Join::accept(Message message) {
  const auto position = partial_.try_emplace(message.sequence).first;
  Partial& partial = position->second;
  partial.by_port.resize(inputs_);
  const std::size_t port = message.port;
  partial.by_port[port] = std::move(message);
  if (++partial.arrived < inputs_) return std::nullopt;

  const std::vector<Message> inputs = std::move(partial.by_port);
  partial_.erase(position);
  Message joined{inputs.front().sequence, inputs.front().kind, 0, nullptr};
  if (std::ranges::find(inputs, Message::Kind::gap, &Message::kind) != inputs.end()) {
    joined.kind = Message::Kind::gap;
  } else if (joined.kind == Message::Kind::packet) {
    joined.envelope = std::make_shared<Envelope>(
        Envelope{merged_packet(inputs), inputs.front().envelope->ticket, still_open(inputs)});
  }
  return joined;
}

}  // namespace seam::host
