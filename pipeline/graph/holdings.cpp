#include "pipeline/graph/holdings.hpp"

#include <algorithm>
#include <cstddef>

namespace seam::host {
namespace {

/// Looks again after this part of the limit, so that looking costs little per packet.
constexpr std::int64_t parts = 16;

/// Smaller packets are not counted: a sampler may hold the names of a million images.
constexpr std::size_t large_value = 4096;

}  // namespace

Holdings::Holdings(Budget& budget, std::int64_t limit) : budget_(budget), limit_(limit) {}

Holdings::~Holdings() {
  count(0);
}

void Holdings::take(const Envelope& envelope) {
  const Packet::Slot* largest = nullptr;
  std::size_t most = large_value - 1;
  for (const Packet::Slot& slot : envelope.packet.slots()) {
    const std::size_t size = slot.type->bytes(slot.value.get());
    if (size <= most || envelope.shares(slot)) continue;
    most = size;
    largest = &slot;
  }
  if (largest == nullptr) return;
  Held& held = held_[largest->value.get()];
  bytes_ += envelope.share.bytes() - held.bytes;  // an address may be used again
  held = {largest->value, envelope.share.bytes()};
}

void Holdings::give(const Packet& packet) {
  for (const Packet::Slot& slot : packet.slots()) {
    const auto found = held_.find(slot.value.get());
    if (found == held_.end()) continue;
    bytes_ -= found->second.bytes;
    held_.erase(found);
  }
  count(std::min(counted_, bytes_));
}

Holdings::Verdict Holdings::settle() {
  if (bytes_ < look_at_) return Verdict::fits;
  std::erase_if(held_, [this](const auto& entry) {
    if (!entry.second.value.expired()) return false;
    bytes_ -= entry.second.bytes;
    return true;
  });
  count(bytes_);
  look_at_ = std::min(bytes_ + limit_ / parts, limit_) + 1;
  return bytes_ > limit_ && held_.size() > 1 ? Verdict::too_much : Verdict::fits;
}

void Holdings::count(std::int64_t bytes) {
  budget_.hold(bytes - counted_);
  counted_ = bytes;
}

}  // namespace seam::host
