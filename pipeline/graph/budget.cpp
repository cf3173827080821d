#include "pipeline/graph/budget.hpp"

#include <algorithm>

namespace seam::host {
namespace {

/// How fast an estimate falls if packets get smaller: by 1/fall of the difference per packet. After
/// a packet that is a thousand times larger than the others, it takes 60 packets to come within a
/// third of their size.
constexpr std::int64_t fall = 8;

void raise_to(std::atomic<std::int64_t>& peak, std::int64_t value) {
  std::int64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void PacketSizes::grown(std::int64_t peak) {
  if (estimate() >= 0) raise_to(estimate_, peak);
}

void PacketSizes::through(std::int64_t peak) {
  std::int64_t seen = estimate();
  std::int64_t next = peak;
  do {
    next = peak >= seen ? peak : seen - (seen - peak + fall - 1) / fall;
  } while (next != seen && !estimate_.compare_exchange_weak(seen, next, std::memory_order_relaxed));
}

Ticket::Ticket(Budget& budget, PacketSizes& sizes, std::int64_t reserved, std::uint64_t weight)
    : budget_(&budget), sizes_(&sizes), reserved_(reserved), weight_(weight) {}

Ticket::~Ticket() {
  budget_->release(*sizes_, reserved_.load(), peak_.load(), weight_.load());
}

void Ticket::change_bytes(std::int64_t by) {
  const std::int64_t now = held_.fetch_add(by, std::memory_order_relaxed) + by;
  if (by <= 0) return;
  raise_to(peak_, now);
  // The reservation never shrinks, because the packet may still grow. A packet that exceeds it
  // reserves more at once; each of several threads reserves its own increase.
  std::int64_t before = reserved_.load(std::memory_order_relaxed);
  while (now > before) {
    if (!reserved_.compare_exchange_weak(before, now, std::memory_order_relaxed)) continue;
    budget_->grown(*sizes_, now - before, now);
    return;
  }
}

Budget::Budget(std::int64_t packets, std::int64_t bytes, std::int64_t first,
               std::function<void()> on_room)
    : packet_limit_(packets), byte_limit_(bytes), first_(first), on_room_(std::move(on_room)) {}

PacketSizes& Budget::add_maker() {
  makers_.push_back(std::make_unique<PacketSizes>());
  return *makers_.back();
}

bool Budget::room(const PacketSizes& maker) const {
  const std::int64_t packets = packets_.load();
  if (packets == 0) return true;
  const std::int64_t estimate = maker.estimate();
  if (estimate < 0 && maker.under_way() >= first_) return false;
  return packets < packet_limit_ &&
         bytes_.load(std::memory_order_relaxed) + std::max<std::int64_t>(estimate, 0) <=
             byte_limit_;
}

bool Budget::worth_waking(const PacketSizes& maker) const {
  const std::int64_t packets = packets_.load();
  return packets == 0 || (packets <= packet_limit_ - packet_limit_ / 4 && room(maker));
}

std::shared_ptr<Ticket> Budget::admit(PacketSizes& maker, std::int64_t bytes,
                                      std::uint64_t weight) {
  const std::int64_t reserved = std::max(bytes, maker.estimate());
  raise_to(packets_peak_, packets_.fetch_add(1) + 1);
  maker.under_way_.fetch_add(1, std::memory_order_relaxed);
  reserve(reserved);
  return std::make_shared<Ticket>(*this, maker, reserved, weight);
}

void Budget::grown(PacketSizes& maker, std::int64_t by, std::int64_t peak) {
  maker.grown(peak);
  reserve(by);
}

void Budget::reserve(std::int64_t by) {
  raise_to(bytes_peak_, bytes_.fetch_add(by, std::memory_order_relaxed) + by);
}

void Budget::release(PacketSizes& maker, std::int64_t reserved, std::int64_t peak,
                     std::uint64_t weight) {
  maker.through(peak);
  maker.under_way_.fetch_sub(1, std::memory_order_relaxed);
  bytes_.fetch_sub(reserved, std::memory_order_relaxed);
  finished_.fetch_add(weight, std::memory_order_relaxed);
  packets_.fetch_sub(1);
  on_room_();
}

}  // namespace seam::host
