#include "pipeline/graph/budget.hpp"

#include <algorithm>
#include <utility>

namespace seam::host {
namespace {

void raise_to(std::atomic<std::int64_t>& peak, std::int64_t value) {
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

Ticket::Ticket(Budget& budget, std::int64_t bytes, std::uint64_t weight)
    : budget_(&budget), reserved_(bytes), peak_(bytes), weight_(weight) {}

Ticket::~Ticket() {
  budget_->release(reserved_.load(), peak_.load(), weight_.load());
}

void Ticket::set_bytes(std::int64_t bytes) {
  raise_to(peak_, bytes);
  // Never below the reservation made at the start while the packet may still grow; a packet that
  // has outgrown it pays at once.
  const std::int64_t before = reserved_.load(std::memory_order_relaxed);
  if (bytes > before) {
    reserved_.store(bytes, std::memory_order_relaxed);
    budget_->change_bytes(bytes - before);
  }
}

Budget::Budget(std::int64_t packets, std::int64_t bytes, std::int64_t first,
               std::function<void()> on_room)
    : packet_limit_(packets), byte_limit_(bytes), first_(first), on_room_(std::move(on_room)) {}

bool Budget::room() const {
  const std::int64_t packets = packets_.load();
  if (packets == 0) return true;
  const std::int64_t largest = largest_.load(std::memory_order_relaxed);
  if (largest < 0 && packets >= first_) return false;
  return packets < packet_limit_ &&
         bytes_.load(std::memory_order_relaxed) + std::max<std::int64_t>(largest, 0) <= byte_limit_;
}

std::shared_ptr<Ticket> Budget::admit(std::int64_t bytes, std::uint64_t weight) {
  const std::int64_t reserved =
      std::max(bytes, std::max<std::int64_t>(largest_.load(std::memory_order_relaxed), 0));
  raise_to(packets_peak_, packets_.fetch_add(1) + 1);
  change_bytes(reserved);
  return std::make_shared<Ticket>(*this, reserved, weight);
}

void Budget::change_bytes(std::int64_t by) {
  raise_to(bytes_peak_, bytes_.fetch_add(by, std::memory_order_relaxed) + by);
}

void Budget::release(std::int64_t reserved, std::int64_t peak, std::uint64_t weight) {
  raise_to(largest_, peak);
  bytes_.fetch_sub(reserved, std::memory_order_relaxed);
  finished_.fetch_add(weight, std::memory_order_relaxed);
  packets_.fetch_sub(1);
  on_room_();
}

}  // namespace seam::host
