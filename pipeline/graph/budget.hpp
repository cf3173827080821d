/// Bounds what is under way in a flow, by packets and by bytes.
///
///     source ── admit() ──► Ticket ── travels with the packet ── last handle gone ──► room again
///
/// Only sources and the ends of collectors wait for room; whatever is further down may always go
/// on, so the bound cannot deadlock. A packet that has just been made is small and grows when it is
/// decoded: a ticket therefore reserves as many bytes as the largest packet has needed so far, and
/// until the first one is through only a few are admitted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace seam::host {

class Budget;

/// One packet's place. Shared by the copies of a packet in branches.
class Ticket {
 public:
  Ticket(Budget& budget, std::int64_t bytes, std::uint64_t weight);
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  Ticket(Ticket&&) = delete;
  Ticket& operator=(Ticket&&) = delete;

  /// What the packet holds now.
  void set_bytes(std::int64_t bytes);
  /// How many of the sources' packets this one stands for, now taken over by another.
  [[nodiscard]] std::uint64_t take_weight() { return weight_.exchange(0); }

 private:
  Budget* budget_;  // outlives all tickets: the flow waits for them
  std::atomic<std::int64_t> reserved_;
  std::atomic<std::int64_t> peak_;
  std::atomic<std::uint64_t> weight_;
};

class Budget {
 public:
  /// `first`: how many packets may be under way before the size of any is known. `on_room` is
  /// called from the thread that frees a place.
  Budget(std::int64_t packets, std::int64_t bytes, std::int64_t first,
         std::function<void()> on_room);

  /// Whether a source may make a packet. Always when nothing is under way.
  [[nodiscard]] bool room() const;
  /// Takes a place, with or without room: collectors may emit more than they took in.
  /// `weight`: how many of the sources' packets it stands for, as a batch does for its images.
  [[nodiscard]] std::shared_ptr<Ticket> admit(std::int64_t bytes, std::uint64_t weight = 1);

  [[nodiscard]] std::int64_t packets() const { return packets_.load(); }
  [[nodiscard]] std::int64_t packets_peak() const { return packets_peak_.load(); }
  [[nodiscard]] std::int64_t bytes_peak() const { return bytes_peak_.load(); }
  /// The weight of all tickets given back so far: sources' packets that are through.
  [[nodiscard]] std::uint64_t finished() const { return finished_.load(); }

 private:
  friend class Ticket;
  void change_bytes(std::int64_t by);
  void release(std::int64_t reserved, std::int64_t peak, std::uint64_t weight);

  const std::int64_t packet_limit_;
  const std::int64_t byte_limit_;
  const std::int64_t first_;
  std::function<void()> on_room_;
  std::atomic<std::int64_t> packets_ = 0;
  std::atomic<std::int64_t> bytes_ = 0;
  std::atomic<std::int64_t> packets_peak_ = 0;
  std::atomic<std::int64_t> bytes_peak_ = 0;
  std::atomic<std::int64_t> largest_ = -1;  // -1: no packet has been through yet
  std::atomic<std::uint64_t> finished_ = 0;
};

}  // namespace seam::host
