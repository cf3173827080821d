/// The steps of a training flow: one batch at a time from the first stage on the compute thread to
/// the end of everything behind it.
///
///     batch 4, 5 ──► lane │ model ──┬─► loss ─► adam      step 3: all of this, and its joins,
///                         │         └─► index             before the model sees batch 4
///
/// A loss's backward pass needs the weights with which the model computed the batch, and the
/// optimizer changes them: so no batch may enter before the one in front is through, whatever forks
/// and joins stand between. Nothing waits for that: the compute thread carries a batch through,
/// branch by branch as the flow names them, and then takes the next one. A collector inside
/// keeps what it likes; what it sends on is carried through at once. So a step cannot deadlock, and
/// its calls are made in the same order for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "pipeline/graph/message.hpp"

namespace seam::host {

/// Hands a message to a segment or a join.
using Deliver = std::function<void(Message&&)>;

/// What is still to be done for the message in hand; on the compute thread alone.
class StepQueue {
 public:
  /// An edge inside the step. `target` outlives the flow's run.
  void put(const Deliver& target, Message&& message) {
    fresh_.push_back({&target, std::move(message)});
  }
  /// Carries all that was put through to the end: what is put meanwhile comes first, in the order
  /// of its putting.
  void settle();

 private:
  struct Item {
    const Deliver* target;
    Message message;
  };
  std::vector<Item> fresh_;  // put since the last one was taken, first to last
  std::vector<Item> ahead_;  // last to first
};

/// Where messages of one numbering enter the step: ports, of which each gets every number once. The
/// step of a number begins at the first port and is through when all ports had it.
///
///     7 ──► port 0: model ───┐
///     7 ──► port 1: ─────────┴─► join ─► loss ─► adam      8 waits at port 0 for 7 at port 1
///
/// No port waits for room, and what leads to one is outside the step: each number comes.
class StepLane {
 public:
  explicit StepLane(StepQueue& queue) : queue_(queue) {}
  /// Before the flow runs. Returns the port's number, which its messages must bear.
  std::size_t add_port(Deliver deliver);
  /// Before the flow runs: the number of the first step.
  void begin_at(std::uint64_t number) { number_ = steps_ = number; }
  /// How many steps are through, those before begin_at() included.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Called where the steps before `number` are through and the next has not begun: when the last
  /// of them has ended, and again when a message for the next has come.
  enum class Boundary : std::uint8_t { ended, begins };
  std::function<void(std::uint64_t number, Boundary boundary)> on_boundary;
  /// On the compute thread.
  void accept(Message&& message);

 private:
  struct Port {
    Deliver deliver;
    std::map<std::uint64_t, Message> waiting;
  };
  StepQueue& queue_;  // the flow's, as the lane is
  std::vector<Port> ports_;
  std::size_t turn_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t steps_ = 0;  // the end of the flow has a number as well, and is none
};

}  // namespace seam::host
