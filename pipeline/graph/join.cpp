#include "pipeline/graph/join.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

/// Returns the packet's way through the split, or null if it did not pass it.
const Fork* way_through(const Split* split, const Envelope& envelope) {
  const Fork* fork = envelope.fork.get();
  while (fork != nullptr && fork->split.get() != split) fork = fork->outer.get();
  return fork;
}

const Packet::Slot* slot_of(const Packet& packet, std::string_view name) {
  return find_in(packet.slots(), name, &Packet::Slot::name);
}

/// Returns whether `a` has the field as it was before the split from `b`, while `b` has changed it.
bool is_overtaken(std::string_view name, const Envelope& a, const Envelope& b) {
  const Fork* fork = a.fork.get();
  while (fork != nullptr && way_through(fork->split.get(), b) == nullptr) fork = fork->outer.get();
  if (fork == nullptr) return false;
  const Packet::Slot* before = slot_of(fork->split->before, name);
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

/// The fork of the joined packet. If all branches of a split are among the inputs, the packet
/// leaves the split; otherwise it now represents several of its branches.
std::shared_ptr<const Fork> fork_of_joined(const std::vector<Message>& inputs) {
  const auto is_common = [&](const Split* split) {
    return std::ranges::all_of(inputs, [&](const Message& input) {
      return way_through(split, *input.envelope) != nullptr;
    });
  };
  const Fork* fork = inputs.front().envelope->fork.get();
  while (fork != nullptr && !is_common(fork->split.get())) fork = fork->outer.get();
  if (fork == nullptr) return nullptr;
  std::set<const Fork*> ways;  // inputs that split later share the way through this split
  for (const Message& input : inputs) ways.insert(way_through(fork->split.get(), *input.envelope));
  std::size_t branches = 0;
  for (const Fork* way : ways) branches += way->branches;
  if (branches == fork->split->branches) return fork->outer;
  return std::make_shared<const Fork>(Fork{fork->split, branches, fork->outer});
}

}  // namespace

std::optional<Message> Join::accept(Message message) {
  const auto position = partial_.try_emplace(message.sequence).first;
  Partial& partial = position->second;
  partial.by_port.resize(inputs_);
  const std::size_t port = message.port;
  partial.by_port[port] = std::move(message);
  if (++partial.arrived < inputs_) return std::nullopt;

  std::vector<Message> inputs = std::move(partial.by_port);
  partial_.erase(position);
  Message joined{inputs.front().sequence, inputs.front().kind, 0, nullptr};
  if (contains(inputs, Message::Kind::gap, &Message::kind)) {
    joined.kind = Message::Kind::gap;
  } else if (joined.kind == Message::Kind::packet) {
    Share share(inputs.front().envelope->share.ticket(), 0);
    joined.envelope = std::make_shared<Envelope>(
        Envelope{std::move(share), fork_of_joined(inputs), merged_packet(inputs)});
    inputs.clear();  // so that shared data is counted once
    joined.envelope->account();
  }
  return joined;
}

}  // namespace seam::host
