/// A run of stages that work on one packet back to back, and the edges that leave it.
///
///     accept(message) ──► in order? ──► stage ──► stage ──► ... ──► forward to every successor
///                                         │ drop, failure
///                                         └──► a gap replaces it, and it is counted
///
/// A segment does not depend on TBB: its owner calls accept() on the right threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/graph/durations.hpp"
#include "pipeline/graph/flow_points.hpp"
#include "pipeline/graph/flow_state.hpp"
#include "pipeline/graph/holdings.hpp"
#include "pipeline/graph/in_order.hpp"
#include "pipeline/graph/message.hpp"
#include "pipeline/graph/packet_fates.hpp"
#include "pipeline/graph/queue_count.hpp"
#include "pipeline/graph/resumable.hpp"

namespace seam::host {

class Segment {
 public:
  /// Counts of one stage, written by many threads. The counts that change with each packet have
  /// several lanes, so that threads do not wait for each other's cache lines.
  class Counter {
   public:
    static constexpr std::size_t lanes = 16;
    struct alignas(64) Lane {
      std::atomic<std::uint64_t> received = 0;
      std::atomic<std::uint64_t> delivered = 0;
      std::atomic<std::int64_t> busy_ticks = 0;
      DurationCounts packet_ticks{};  ///< per packet
    };

    [[nodiscard]] Lane& lane(std::size_t at) { return lanes_[at]; }
    [[nodiscard]] std::uint64_t received() const { return sum(&Lane::received); }
    [[nodiscard]] std::uint64_t delivered() const { return sum(&Lane::delivered); }
    [[nodiscard]] std::int64_t busy_ticks() const { return sum(&Lane::busy_ticks); }
    [[nodiscard]] Durations packet_times(double seconds_a_tick) const {
      Durations times;
      for (const Lane& lane : lanes_) times.add(lane.packet_ticks, seconds_a_tick);
      return times;
    }

    std::atomic<std::uint64_t> emitted = 0;
    std::atomic<std::uint64_t> failed = 0;
    std::atomic<std::uint64_t> dropped_total = 0;
    double backward_seconds = 0;  // other stages' gradients in this stage's calls; compute thread
    CallMemory memory;            // compute thread
    std::atomic<std::uint64_t> discarded = 0;  // arrived after an error or a stop request
    std::mutex mutex;                          // guards `dropped`
    std::map<std::string, std::uint64_t> dropped;

   private:
    template <class Number>
    [[nodiscard]] Number sum(std::atomic<Number> Lane::*count) const {
      Number total = 0;
      for (const Lane& lane : lanes_) total += (lane.*count).load(std::memory_order_relaxed);
      return total;
    }
    std::array<Lane, lanes> lanes_;
  };

  /// An edge: passes messages to its consumer and counts the packets.
  struct Edge {
    std::string from;
    std::vector<std::string> to;  ///< one stage, or all stages after the same join
    std::function<void(Message&&)> put;
    std::atomic<std::uint64_t> packets = 0;
  };

  Segment(FlowState& flow, Workplace place, std::vector<StageRunner*> stages);

  [[nodiscard]] Workplace place() const { return place_; }
  [[nodiscard]] const std::vector<StageRunner*>& stages() const { return stages_; }
  [[nodiscard]] StageRunner& first() const { return *stages_.front(); }
  [[nodiscard]] StageRunner& last() const { return *stages_.back(); }
  [[nodiscard]] Counter& counter(std::size_t stage) const { return *counters_[stage]; }
  [[nodiscard]] const std::vector<std::unique_ptr<Edge>>& edges() const { return edges_; }
  void add_edge(std::vector<std::string> to, std::function<void(Message&&)> put);

  /// Before the flow runs: sets the numbers of the first message received and the first one made.
  void begin_at(std::uint64_t first_in, std::uint64_t first_out);
  /// Before the flow runs: for a source or collector whose first packets were processed in an
  /// earlier process; gaps replace them.
  void pass_over(std::uint64_t count) { passed_over_ = count; }
  /// Before the flow runs: for a source; the packets that stay together in one shard.
  void set_block(std::uint64_t block) { block_ = block; }
  /// The segment's role in a flow that ends with its first batch.
  enum class ForBatch : std::uint8_t { none, leads_to_it, makes_it };
  /// Before the flow runs.
  void set_for_batch(ForBatch part) { for_batch_ = part; }
  /// Before the flow runs: sets the points at which it can be suspended, and how these stages
  /// resume.
  void set_points(FlowPoints* points, Replay replay) {
    points_ = points;
    replay_ = replay;
  }

  /// Takes a message, from one thread at a time except for parallel segments.
  void accept(Message&& message);

  /// For sources: calls produce() while there is capacity. Returns whether there may be more
  /// packets; then the owner calls again when capacity is freed. Sends the end message itself.
  [[nodiscard]] More pump();
  /// Returns whether this segment now makes packets without input: a source, or a collector at its
  /// end.
  [[nodiscard]] bool pumping() const { return pumping_.load(); }
  /// Called once when a collector has received its last packet and needs pumping.
  std::function<void()> on_pumping;
  /// Called by pump() after each portion that was sent; null if there is nothing to do.
  std::function<void()> on_portion;
  /// Returns whether there is capacity for the next packet of a source or collector.
  [[nodiscard]] bool room() const { return sizes_ == nullptr || flow_.budget.room(*sizes_); }
  [[nodiscard]] bool worth_waking() const {
    return sizes_ == nullptr || flow_.budget.worth_waking(*sizes_);
  }
  /// Packets that a collector received after the last packet it emitted.
  [[nodiscard]] std::uint64_t swallowed() const { return unsent_; }
  /// Number of packets that a collector both emitted and dropped.
  [[nodiscard]] std::uint64_t dropped_and_sent() const { return fates_.both(); }

  /// The length of the queue before the segment, counted by its owner.
  [[nodiscard]] QueueCount& queue() { return queue_; }
  [[nodiscard]] const QueueCount& queue() const { return queue_; }
  /// The stage that is in its produce() or end(), or null.
  [[nodiscard]] const StageRunner* calling() const { return calling_.load(); }
  /// StageCount::listing.
  [[nodiscard]] std::uint64_t listing() const { return listing_; }

 private:
  class Output;
  /// Returns whether the flow's first batch is made and this segment has nothing more to do.
  [[nodiscard]] bool has_done_its_part() const {
    return (for_batch_ != ForBatch::none && flow_.has_batches()) ||
           (for_batch_ == ForBatch::makes_it && next_out_ > 0);
  }
  [[nodiscard]] bool is_of_other_shard(std::uint64_t packet) const {
    return !flow_.options.shard->has(packet, block_);
  }
  void handle(Message&& message);
  void handle_packet(Message&& message);
  [[nodiscard]] bool run_stage(std::size_t at, Envelope& envelope, std::int64_t& from);
  [[nodiscard]] Outcome attempt(std::size_t at, Envelope& envelope);
  [[nodiscard]] Outcome collect(Envelope& envelope);
  void finish_stages(std::uint64_t sequence);
  void forward(Message&& message);
  void drop(std::size_t stage, const std::string& reason);
  /// Holds the collector's newest message, because more may follow in the same call, and forwards
  /// the previous one.
  void hold(Message&& message);
  /// Forwards the last message of the call, which processed the packet with this number, and notes
  /// whether the flow can be suspended after it.
  void send_held(std::uint64_t in_hand);
  [[nodiscard]] StageRunner::Standing ask_collector();
  /// Null if no gradients are computed in the segment.
  [[nodiscard]] BackwardListener* backward_listener() const;
  /// Whether the exchange with other ranks has failed: then no packet can be skipped or tried
  /// again.
  [[nodiscard]] bool has_lost_ranks() const;
  /// Whether its calls' memory is measured: in a step, unless the tensors are on a GPU.
  [[nodiscard]] bool measures_memory() const;
  /// Owner of the tensors that its calls allocate.
  [[nodiscard]] tensor_memory::Owner owner() const {
    return place_ == Workplace::compute_thread ? tensor_memory::Owner::compute
                                               : tensor_memory::Owner::other;
  }
  /// Adds the ticks since `from` to the stage's, notifies the listener, and sets `from` to now.
  void account(std::size_t stage, Counter::Lane& lane, std::uint64_t sequence, std::int64_t& from);

  FlowState& flow_;
  Workplace place_;
  std::vector<StageRunner*> stages_;
  std::vector<std::unique_ptr<Counter>> counters_;
  std::vector<const StageSpec*> specs_;  // null: defaults
  std::vector<std::unique_ptr<Edge>> edges_;
  InOrder<Message> in_order_;
  PacketSizes* sizes_ = nullptr;      // owned by the budget; only for sources and collectors
  std::optional<Holdings> holdings_;  // only if chooses_
  std::uint64_t next_out_ = 0;        // number of the next packet of a source or collector
  std::uint64_t weight_taken_ = 0;    // of packets received by a collector since it last emitted
  std::uint64_t unsent_ = 0;          // packets received since then, without those it dropped
  std::uint64_t passed_over_ = 0;     // number of first packets that are replaced with gaps
  std::uint64_t block_ = 0;           // 0: not a source that is split into shards
  std::uint64_t listing_ = 0;
  bool chooses_ = false;          // a collector that emits packets that it received
  PacketFates fates_;             // only if chooses_
  FlowPoints* points_ = nullptr;  // only for the collector that makes a step's batches
  Replay replay_ = Replay::whole;
  ForBatch for_batch_ = ForBatch::none;
  std::optional<Message> held_;  // made in the current call
  bool held_alone_ = false;      // the collector held no other packet then
  std::atomic<bool> pumping_ = false;
  std::atomic<const StageRunner*> calling_ = nullptr;
  // For parallel segments: counts down from a start that no flow reaches, so that the thread that
  // handles the last message before the end, or the end itself, brings it to zero.
  std::atomic<std::int64_t> outstanding_;
  std::atomic<std::uint64_t> end_sequence_ = 0;
  QueueCount queue_;
};

}  // namespace seam::host
