/// The steps of a training flow: one batch at a time, from the first stage on the compute thread to
/// the end of the flow.
///
///     batch 4, 5 ──► lane │ model ──┬─► loss ─► adam      step 3: all of this, and its joins,
///                         │         └─► index             before the model sees batch 4
///
/// A loss's backward pass needs the weights with which the model computed the batch, and the
/// optimizer changes them, so a batch may not enter before the previous one has finished,
/// regardless of forks and joins in between. No thread waits for that: the compute thread processes
/// a batch completely, branch by branch in the order of the flow, and then takes the next one. A
/// collector in the step may keep packets; those that it emits are processed at once. So a step
/// cannot deadlock, and its calls are made in the same order for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "pipeline/graph/message.hpp"

namespace seam::host {

/// Passes a message to a segment or a join.
using Deliver = std::function<void(Message&&)>;

/// The outstanding work for the current message; only on the compute thread.
class StepQueue {
 public:
  /// An edge inside the step. `target` outlives the flow's run.
  void put(const Deliver& target, Message&& message) {
    fresh_.push_back({&target, std::move(message)});
  }
  /// Delivers all messages. Those that are added meanwhile come first, in the order in which they
  /// were added.
  void settle();

 private:
  struct Item {
    const Deliver* target;
    Message message;
  };
  std::vector<Item> fresh_;  // put since the last one was taken, first to last
  std::vector<Item> ahead_;  // last to first
};

/// The entrance to the step for messages with the same numbering: ports, each of which receives
/// every number once. A step begins at the first port and ends when all ports have received its
/// number.
///
///     7 ──► port 0: model ───┐
///     7 ──► port 1: ─────────┴─► join ─► loss ─► adam      8 waits at port 0 for 7 at port 1
///
/// No port waits for capacity, and the stages before it are outside the step, so each number
/// arrives.
class StepLane {
 public:
  explicit StepLane(StepQueue& queue) : queue_(queue) {}
  /// Before the flow runs. Returns the port's number, which its messages must have.
  std::size_t add_port(Deliver deliver);
  /// Before the flow runs: sets the number of the first step.
  void begin_at(std::uint64_t number) { number_ = steps_ = number; }
  /// Number of finished steps, including those before begin_at().
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Called when the steps before `number` have ended and the next has not begun: after the last
  /// of them, and again when a message for the next has arrived.
  enum class Boundary : std::uint8_t { ended, begins };
  std::function<void(std::uint64_t number, Boundary boundary)> on_boundary;
  /// On the compute thread.
  void accept(Message&& message);

 private:
  struct Port {
    Deliver deliver;
    std::map<std::uint64_t, Message> waiting;
  };
  StepQueue& queue_;
  std::vector<Port> ports_;
  std::size_t turn_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t steps_ = 0;  // unlike number_, without the end of the flow
};

}  // namespace seam::host
