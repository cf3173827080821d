/// Limits the packets in flight in a flow, by number and by bytes.
///
///     source ── admit() ──► Ticket ── travels with the packet ── last handle gone ──► capacity
///     freed
///                              ▲
///                              └── Share: what one copy of the packet, or a split, holds in memory
///
/// Only sources, and collectors that are finishing, wait for capacity; everything downstream can
/// always proceed, so the limit cannot deadlock. Packets held by collectors use capacity without a
/// ticket (holdings.hpp). A new packet is small and grows when it is decoded. A ticket therefore
/// reserves as much as recent packets of the same source or collector needed, and until the first
/// of these has finished, only a few are admitted. A packet that exceeds its reservation reserves
/// more at once, so that no more packets are admitted. Packets in flight may then exceed the limit
/// by their growth beyond the estimate.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace seam::host {

class Budget;

/// The sizes of the packets that one source or collector makes.
class PacketSizes {
 public:
  /// Estimated peak size of the next packet; negative until one has finished.
  [[nodiscard]] std::int64_t estimate() const { return estimate_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t under_way() const {
    return under_way_.load(std::memory_order_relaxed);
  }

 private:
  friend class Budget;
  void grown(std::int64_t peak);
  void through(std::int64_t peak);

  std::atomic<std::int64_t> estimate_ = -1;
  std::atomic<std::int64_t> under_way_ = 0;
};

/// One packet's place in the budget, shared by its copies in branches.
class Ticket {
 public:
  Ticket(Budget& budget, PacketSizes& sizes, std::int64_t reserved, std::uint64_t weight);
  ~Ticket();

  /// Adds to the bytes that all holders of the ticket hold; may be called by any thread.
  void change_bytes(std::int64_t by);
  [[nodiscard]] std::int64_t bytes() const { return held_.load(std::memory_order_relaxed); }
  /// Returns the number of source packets that this one represents, which another one takes over.
  [[nodiscard]] std::uint64_t take_weight() { return weight_.exchange(0); }

 private:
  Budget* budget_;      // outlives all tickets: the flow waits for them
  PacketSizes* sizes_;  // the budget's
  std::atomic<std::int64_t> held_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
  std::atomic<std::int64_t> reserved_;
  std::atomic<std::uint64_t> weight_;
};

/// The bytes held by one holder of a ticket: a copy of the packet, or a split with the data that
/// its branches share. The destructor releases the bytes and the ticket.
class Share {
 public:
  Share() = default;
  Share(std::shared_ptr<Ticket> ticket, std::int64_t bytes) : ticket_(std::move(ticket)) {
    set(bytes);
  }
  ~Share() { release(); }
  Share(Share&& other) noexcept
      : ticket_(std::move(other.ticket_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    if (this == &other) return *this;
    release();
    ticket_ = std::move(other.ticket_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  /// Sets the bytes that the holder holds now; one thread at a time.
  void set(std::int64_t bytes) {
    if (bytes == bytes_ || !ticket_) return;
    ticket_->change_bytes(bytes - bytes_);
    bytes_ = bytes;
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Null if there is none.
  [[nodiscard]] const std::shared_ptr<Ticket>& ticket() const { return ticket_; }

 private:
  void release() {
    set(0);
    ticket_.reset();
  }

  std::shared_ptr<Ticket> ticket_;
  std::int64_t bytes_ = 0;
};

class Budget {
 public:
  /// `first`: how many packets of a source or collector may be in flight before the size of any is
  /// known. `on_room` is called by the thread that frees capacity.
  Budget(std::int64_t packets, std::int64_t bytes, std::int64_t first,
         std::function<void()> on_room);

  /// Adds a source or collector; before the flow runs. The result lives as long as the budget.
  [[nodiscard]] PacketSizes& add_maker();
  /// Returns whether a source may make a packet. Always true if no packet is in flight.
  [[nodiscard]] bool room(const PacketSizes& maker) const;
  /// Whether a source that waits for capacity should look again. Not for each free place, because
  /// waking it takes longer than making a packet; always if nothing is in flight.
  [[nodiscard]] bool worth_waking(const PacketSizes& maker) const;
  /// Admits a packet even beyond the limit, because collectors may emit more packets than they
  /// receive. `weight`: number of source packets that it represents, as a batch does for its
  /// images.
  [[nodiscard]] std::shared_ptr<Ticket> admit(PacketSizes& maker, std::int64_t bytes,
                                              std::uint64_t weight = 1);

  /// A collector holds `by` more bytes of packets whose tickets are gone.
  void hold(std::int64_t by) { reserve(by); }

  [[nodiscard]] std::int64_t packets() const { return packets_.load(); }
  [[nodiscard]] std::int64_t packets_peak() const { return packets_peak_.load(); }
  /// Bytes reserved by all tickets and held by collectors.
  [[nodiscard]] std::int64_t bytes() const { return bytes_.load(); }
  [[nodiscard]] std::int64_t bytes_peak() const { return bytes_peak_.load(); }
  /// Total weight of the tickets released so far: the source packets that have finished.
  [[nodiscard]] std::uint64_t finished() const { return finished_.load(); }

 private:
  friend class Ticket;
  void grown(PacketSizes& maker, std::int64_t by, std::int64_t peak);
  void reserve(std::int64_t by);
  void release(PacketSizes& maker, std::int64_t reserved, std::int64_t peak, std::uint64_t weight);

  const std::int64_t packet_limit_;
  const std::int64_t byte_limit_;
  const std::int64_t first_;
  std::function<void()> on_room_;
  std::vector<std::unique_ptr<PacketSizes>> makers_;
  std::atomic<std::int64_t> packets_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<std::int64_t> packets_peak_ = 0;
  std::atomic<std::int64_t> bytes_peak_ = 0;
  std::atomic<std::uint64_t> finished_ = 0;
};

}  // namespace seam::host
