/// The nodes of a running flow and the edges between them: what calls which segment, on which
/// thread.
///
///     parallel segment   a TBB node, a task a message
///     serial segment     an inbox that a TBB task empties
///     compute thread     an inbox that the compute thread empties
///     source             a thread of its own, since it may wait for a socket or a pipe
///     training step      lanes into it, and a queue inside it, on the compute thread (step.hpp)
#pragma once

#include <tbb/flow_graph.h>
#include <tbb/task_group.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/graph/activity.hpp"
#include "pipeline/graph/flow_points.hpp"
#include "pipeline/graph/inbox.hpp"
#include "pipeline/graph/plan.hpp"
#include "pipeline/graph/pump.hpp"
#include "pipeline/graph/segment.hpp"
#include "pipeline/graph/step.hpp"
#include "pipeline/graph/work_thread.hpp"

namespace seam::host {

class Wiring {
 public:
  using Segments = std::vector<std::unique_ptr<Segment>>;

  /// Connects the segments, which are those of the plan. All of these outlive this object, which
  /// must be at rest (activity quiet, wait() returned) when it goes.
  /// `points`: where the flow can be left between two steps; null where nobody asks.
  Wiring(const FlowSpec& flow, const FlowPlan& plan, const Segments& segments, FlowState& state,
         Activity& activity, WorkThread& compute, FlowPoints* points);

  /// Lets sources make their first packets.
  void start();
  /// There is room: whoever waits for it looks again. From any thread.
  void poke();
  /// TBB wants its waiting thread in the arena where tasks are spawned: it works there while there
  /// are any.
  void wait() { graph_.wait_for_all(); }

  /// Training steps that are through, those before the point where the flow went on included.
  [[nodiscard]] std::uint64_t steps() const;

 private:
  using MessageNode = tbb::flow::function_node<Message, tbb::flow::continue_msg>;
  using WakeNode = tbb::flow::function_node<tbb::flow::continue_msg, tbb::flow::continue_msg>;

  /// A serial node: an inbox, and who empties it.
  struct Serial {
    explicit Serial(QueueCount* count) : inbox(count) {}
    Inbox inbox;
    Deliver handle;
    std::unique_ptr<WakeNode> wake;  ///< null: the compute thread empties it
  };
  /// How messages get into a segment or a join; one of the three.
  struct Entrance {
    MessageNode* parallel = nullptr;
    Serial* serial = nullptr;
    const Deliver* step = nullptr;
  };

  void add_segment(Segment& segment, bool in_step);
  void add_pump(Segment& segment, bool in_step);
  /// `count`: of the messages that wait; may be null.
  Entrance add_serial(Workplace place, Deliver handle, QueueCount* count = nullptr);
  Entrance add_step(Deliver handle);
  void connect();
  void connect_join(const std::vector<std::size_t>& inputs,
                    const std::vector<std::size_t>& consumers);
  /// What puts a message from behind a node into a segment.
  Deliver edge(std::size_t from, bool from_step, std::size_t segment);
  /// The same for an entrance, where nothing is counted before it.
  Deliver edge(std::size_t from, bool from_step, const Entrance& to, std::size_t port);
  void put(Serial& node, Message&& message);
  void run_pump(Pump& pump);

  const FlowSpec& flow_;
  const FlowPlan& plan_;
  const Segments& segments_;
  FlowState& state_;
  Activity& activity_;
  WorkThread& compute_;
  FlowPoints* points_;
  tbb::task_group_context context_;
  tbb::flow::graph graph_;
  std::vector<Entrance> entrances_;  // by segment
  std::vector<std::unique_ptr<MessageNode>> parallel_;
  std::vector<std::unique_ptr<Serial>> serial_;
  std::vector<std::unique_ptr<const Deliver>> step_;
  StepQueue step_queue_;
  struct Lane {
    explicit Lane(StepQueue& queue) : lane(queue) {}
    StepLane lane;
    Serial* entrance = nullptr;
  };
  std::map<std::size_t, std::unique_ptr<Lane>> lanes_;  // by the node whose numbers they carry
  std::vector<std::unique_ptr<WakeNode>> pump_nodes_;
  std::vector<std::unique_ptr<Pump>> pumps_;
  std::vector<std::unique_ptr<WorkThread>> source_threads_;  // last: they call what is above
};

}  // namespace seam::host
