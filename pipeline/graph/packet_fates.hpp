/// Finds packets that a collector both emitted and dropped.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "seam/packet.hpp"

namespace seam::host {

/// A packet is identified by its number and by the address of its first value, because a collector
/// may also emit packets of earlier flows, or number those that it makes.
class PacketFates {
 public:
  void received(const Packet& packet) {
    const auto at = static_cast<std::size_t>(packet.sequence());
    if (fates_.size() <= at) fates_.resize(at + 1);
    fates_[at] = {packet.slots().empty() ? nullptr : packet.slots().front().value.get(), 0};
  }
  void sent(const Packet& packet) {
    const auto at = static_cast<std::size_t>(packet.sequence());
    if (at >= fates_.size() || fates_[at].value == nullptr) return;
    const bool is_it = std::ranges::any_of(packet.slots(), [&](const Packet::Slot& slot) {
      return slot.value.get() == fates_[at].value;
    });
    if (is_it) note(at, was_sent);
  }
  /// `sequence`: of a packet that was received.
  void dropped(std::uint64_t sequence) {
    const auto at = static_cast<std::size_t>(sequence);
    if (at < fates_.size()) note(at, was_dropped);
  }
  /// Number of packets that were both emitted and dropped.
  [[nodiscard]] std::uint64_t both() const { return both_; }

 private:
  static constexpr std::uint8_t was_sent = 1;
  static constexpr std::uint8_t was_dropped = 2;

  struct Fate {
    const void* value = nullptr;
    std::uint8_t seen = 0;
  };
  void note(std::size_t at, std::uint8_t what) {
    constexpr std::uint8_t all = was_sent | was_dropped;
    const bool before = fates_[at].seen == all;
    fates_[at].seen |= what;
    if (!before && fates_[at].seen == all) ++both_;
  }

  std::vector<Fate> fates_;
  std::uint64_t both_ = 0;
};

}  // namespace seam::host
