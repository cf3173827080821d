/// A run of stages that work on one packet back to back, and the edges that leave it.
///
///     accept(message) ──► in order? ──► stage ──► stage ──► ... ──► forward to every successor
///                                         │ drop, failure
///                                         └──► a gap goes on in its place, counted
///
/// A segment knows nothing of TBB: whoever owns it calls accept() from the right threads.
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
#include "pipeline/graph/in_order.hpp"
#include "pipeline/graph/message.hpp"
#include "pipeline/graph/packet_fates.hpp"
#include "pipeline/graph/queue_count.hpp"
#include "pipeline/graph/resumable.hpp"
#include "pipeline/graph/workplace.hpp"

namespace seam::host {

class Segment {
 public:
  /// Counts of one stage, touched by many threads. What changes with each packet stands in as many
  /// lanes as there may be threads, so that these do not wait for each other's memory.
  class Counter {
   public:
    static constexpr std::size_t lanes = 16;
    struct alignas(64) Lane {
      std::atomic<std::uint64_t> received = 0;
      std::atomic<std::uint64_t> delivered = 0;
      std::atomic<std::int64_t> busy_ticks = 0;
      DurationCounts packet_ticks{};  ///< of one packet each
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
    double backward_seconds = 0;  // of others' gradients, in this stage's calls; compute thread
    std::atomic<std::uint64_t> discarded = 0;  // arrived after the flow had been told to end
    std::mutex mutex;                          // guards dropped, which is rare
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

  /// An edge: puts a message to its consumer, and counts the packets.
  struct Edge {
    std::string from;
    std::vector<std::string> to;  ///< one stage, or all that stand behind the same join
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

  /// Before the flow runs: the numbers of the first message and of the first that is made here.
  void begin_at(std::uint64_t first_in, std::uint64_t first_out);
  /// Before the flow runs: a source or collector whose first packets were seen to in an earlier
  /// process; gaps go on in their place.
  void pass_over(std::uint64_t count) { passed_over_ = count; }
  /// Its part in a flow that ends with its first batch.
  enum class ForBatch : std::uint8_t { none, leads_to_it, makes_it };
  /// Before the flow runs.
  void set_for_batch(ForBatch part) { for_batch_ = part; }
  /// Before the flow runs: where it may be left, and what becomes of these stages then.
  void set_points(FlowPoints* points, Replay replay);

  /// A message arrives. From one thread at a time, except for parallel segments.
  void accept(Message&& message);

  /// Sources: calls produce() while there is room. Returns whether there may be more; then the
  /// owner calls again when a place is free. Ends the flow's packets by itself.
  [[nodiscard]] More pump();
  /// Whether this segment makes packets of its own accord now: a source, or a collector at its end.
  [[nodiscard]] bool pumping() const { return pumping_.load(); }
  /// Called once when a collector has seen its last packet and wants to be pumped.
  std::function<void()> on_pumping;
  /// Called by pump() behind each portion that was sent on; null where there is nothing to do.
  std::function<void()> on_portion;
  /// Whether there is room for what a source or collector makes next.
  [[nodiscard]] bool room() const { return sizes_ == nullptr || flow_.budget.room(*sizes_); }
  /// Packets that a collector took in and of which nothing that it sent on can tell.
  [[nodiscard]] std::uint64_t swallowed() const { return unsent_; }
  /// Packets that a collector dropped and sent on as well.
  [[nodiscard]] std::uint64_t dropped_and_sent() const { return fates_.both(); }

  /// How long the queue before the segment is; its owner counts.
  [[nodiscard]] QueueCount& queue() { return queue_; }
  [[nodiscard]] const QueueCount& queue() const { return queue_; }
  /// The stage that is inside its produce() or end(), or null.
  [[nodiscard]] const StageRunner* calling() const { return calling_.load(); }

 private:
  class Output;
  /// The flow's first batch is made, and this segment has no part in what follows.
  [[nodiscard]] bool has_done_its_part() const {
    return (for_batch_ != ForBatch::none && flow_.has_batches()) ||
           (for_batch_ == ForBatch::makes_it && next_out_ > 0);
  }
  void handle(Message&& message);
  void handle_packet(Message&& message);
  [[nodiscard]] bool run_stage(std::size_t at, Envelope& envelope, std::int64_t& from);
  [[nodiscard]] Outcome attempt(std::size_t at, Envelope& envelope);
  void handle_end(std::uint64_t sequence);
  void finish_stages(std::uint64_t sequence);
  void forward(Message&& message);
  void drop(std::size_t stage, const std::string& reason);
  /// Sends on what the collector has made, of which more may come in the same call.
  void hold(Message&& message);
  /// Sends on the last message of the call, for the packet of this number, and notes whether the
  /// flow can be left behind it.
  void send_held(std::uint64_t in_hand);
  [[nodiscard]] StageRunner::Standing ask_collector();
  /// Null: no gradients are computed in the segment.
  [[nodiscard]] BackwardListener* backward_listener() const;
  /// Adds the ticks since `from` to the stage's, tells who listens, and moves `from` to now.
  void account(std::size_t stage, Counter::Lane& lane, std::uint64_t sequence, std::int64_t& from);

  FlowState& flow_;
  Workplace place_;
  std::vector<StageRunner*> stages_;
  std::vector<std::unique_ptr<Counter>> counters_;
  std::vector<const StageSpec*> specs_;  // null: defaults
  std::vector<std::unique_ptr<Edge>> edges_;
  InOrder<Message> in_order_;
  PacketSizes* sizes_ = nullptr;    // the budget's; of sources and collectors
  std::uint64_t next_out_ = 0;      // collectors and sources number what they emit
  std::uint64_t weight_taken_ = 0;  // of packets a collector has taken in since it last emitted
  std::uint64_t unsent_ = 0;        // packets it took in since, without those it dropped
  std::uint64_t passed_over_ = 0;   // packets of the first that it makes
  bool chooses_ = false;            // a collector that sends on packets that it took in
  PacketFates fates_;               // of those
  FlowPoints* points_ = nullptr;    // of the collector that makes a step's batches
  Replay replay_ = Replay::whole;
  ForBatch for_batch_ = ForBatch::none;
  std::optional<Message> held_;  // made in the call under way
  bool held_alone_ = false;      // the collector held no other packet then
  std::atomic<bool> pumping_ = false;
  std::atomic<const StageRunner*> calling_ = nullptr;
  // For parallel segments: counts down from a start no flow reaches, so that whoever handles the
  // last message before the end, or the end itself, brings it to zero.
  std::atomic<std::int64_t> outstanding_;
  std::atomic<std::uint64_t> end_sequence_ = 0;
  QueueCount queue_;
};

}  // namespace seam::host
