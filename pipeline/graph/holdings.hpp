/// Counts the memory of large packets, those with pixels or tensors, that a collector holds after
/// their tickets are gone.
///
///     take(packet) ──► collector ──┬──► give(packet): its new ticket counts it
///                                  └──► settle(): what is neither emitted nor freed is held
///
/// Nothing can make a collector wait: it may need the last packet before it emits the first. So
/// sources get less capacity, and a collector that holds more than the limit ends the flow.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "pipeline/graph/budget.hpp"
#include "pipeline/graph/message.hpp"

namespace seam::host {

/// For one collector; one thread at a time.
class Holdings {
 public:
  /// `limit`: bytes. `budget` outlives this object.
  Holdings(Budget& budget, std::int64_t limit);
  ~Holdings();
  Holdings& operator=(Holdings&&) = delete;  // not copyable

  /// Call it before the collector gets the packet. Data that branches share is not counted here.
  void take(const Envelope& envelope);
  /// The collector emits the packet.
  void give(const Packet& packet);
  enum class Verdict : std::uint8_t { fits, too_much };
  /// After take(), when the collector has returned. One packet fits, however large.
  [[nodiscard]] Verdict settle();
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  /// A packet; its largest value shows whether it still exists.
  struct Held {
    std::weak_ptr<void> value;
    std::int64_t bytes = 0;
  };
  void count(std::int64_t bytes);

  Budget& budget_;
  std::int64_t limit_;
  std::unordered_map<const void*, Held> held_;
  std::int64_t bytes_ = 0;    // of held_, with what was freed since the last look
  std::int64_t counted_ = 0;  // in the budget
  std::int64_t look_at_ = 0;  // looks through held_ when it has this many bytes
};

}  // namespace seam::host
