/// Bounds what is under way in a flow, by packets and by bytes.
///
///     source ── admit() ──► Ticket ── travels with the packet ── last handle gone ──► room again
///                              ▲
///                              └── Share: what one copy of the packet, or a split, holds in memory
///
/// Only sources and the ends of collectors wait for room; whatever is further down may always go
/// on, so the bound cannot deadlock. What collectors hold takes room without a ticket
/// (holdings.hpp). A packet that has just been made is small and grows when it is decoded: a ticket
/// therefore reserves what the packets of the same source or collector needed lately, and until the
/// first of these is through only a few are admitted. What outgrows its reservation pays at once,
/// so that no more is admitted; packets that are under way already may then exceed the limit by
/// what they grow beyond the estimate.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace seam::host {

class Budget;

/// What is known of the packets that one source or collector makes.
class PacketSizes {
 public:
  /// What the next packet will need at its peak; negative while none is through.
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

/// One packet's place. Shared by the copies of a packet in branches.
class Ticket {
 public:
  Ticket(Budget& budget, PacketSizes& sizes, std::int64_t reserved, std::uint64_t weight);
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  Ticket(Ticket&&) = delete;
  Ticket& operator=(Ticket&&) = delete;

  /// All that holds the ticket holds so many bytes more; from any thread.
  void change_bytes(std::int64_t by);
  [[nodiscard]] std::int64_t bytes() const { return held_.load(std::memory_order_relaxed); }
  /// How many of the sources' packets this one stands for, now taken over by another.
  [[nodiscard]] std::uint64_t take_weight() { return weight_.exchange(0); }

 private:
  Budget* budget_;      // outlives all tickets: the flow waits for them
  PacketSizes* sizes_;  // the budget's
  std::atomic<std::int64_t> held_ = 0;
  std::atomic<std::int64_t> peak_ = 0;
  std::atomic<std::int64_t> reserved_;
  std::atomic<std::uint64_t> weight_;
};

/// The bytes that one holder of a ticket accounts for: a copy of the packet, or a split with what
/// its branches share. Gives them back, and the ticket, when it goes.
class Share {
 public:
  Share() = default;
  Share(std::shared_ptr<Ticket> ticket, std::int64_t bytes) : ticket_(std::move(ticket)) {
    set(bytes);
  }
  ~Share() { release(); }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  Share(Share&& other) noexcept
      : ticket_(std::move(other.ticket_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    if (this == &other) return *this;
    release();
    ticket_ = std::move(other.ticket_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  /// What the holder holds now; one thread at a time.
  void set(std::int64_t bytes) {
    if (bytes == bytes_ || !ticket_) return;
    ticket_->change_bytes(bytes - bytes_);
    bytes_ = bytes;
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Null where there is none.
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
  /// `first`: how many packets of a source or collector may be under way before the size of any is
  /// known. `on_room` is called from the thread that frees a place.
  Budget(std::int64_t packets, std::int64_t bytes, std::int64_t first,
         std::function<void()> on_room);

  /// For a source or collector; before the flow runs. Lives as long as the budget.
  [[nodiscard]] PacketSizes& add_maker();
  /// Whether a source may make a packet. Always when nothing is under way.
  [[nodiscard]] bool room(const PacketSizes& maker) const;
  /// Whether a source that waits for room should look again: not for each place, since to wake it
  /// takes longer than to make a packet. Always when nothing is under way.
  [[nodiscard]] bool worth_waking(const PacketSizes& maker) const;
  /// Takes a place, with or without room: collectors may emit more than they took in.
  /// `weight`: how many of the sources' packets it stands for, as a batch does for its images.
  [[nodiscard]] std::shared_ptr<Ticket> admit(PacketSizes& maker, std::int64_t bytes,
                                              std::uint64_t weight = 1);

  /// A collector holds so many bytes more of packets whose tickets are gone.
  void hold(std::int64_t by) { reserve(by); }

  [[nodiscard]] std::int64_t packets() const { return packets_.load(); }
  [[nodiscard]] std::int64_t packets_peak() const { return packets_peak_.load(); }
  /// What all tickets reserve, and what collectors hold.
  [[nodiscard]] std::int64_t bytes() const { return bytes_.load(); }
  [[nodiscard]] std::int64_t bytes_peak() const { return bytes_peak_.load(); }
  /// The weight of all tickets given back so far: sources' packets that are through.
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
