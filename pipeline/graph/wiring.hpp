/// The nodes of a running flow and the edges between them: which node calls which segment, on which
/// thread.
///
///     parallel segment   a TBB node, one task per message
///     serial segment     an inbox that a TBB task empties
///     compute thread     an inbox that the compute thread empties
///     source             a separate thread, because it may wait for a socket or a pipe
///     training step      lanes into it, and a queue inside it, on the compute thread (step.hpp)
#pragma once

#include <tbb/flow_graph.h>
#include <tbb/task_group.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
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

  /// Connects the segments, which are those of the plan. All arguments outlive this object, which
  /// must be at rest (activity quiet, wait() returned) when it is destroyed.
  /// `points`: where the flow can be suspended between two steps; null if it cannot.
  Wiring(const FlowSpec& flow, const FlowPlan& plan, const Segments& segments, FlowState& state,
         Activity& activity, WorkThread& compute, FlowPoints* points);

  /// Lets sources make their first packets.
  void start();
  /// There is capacity: sources that wait for it look again. May be called by any thread.
  void poke();
  /// TBB's waiting thread must be in the arena in which tasks are spawned: it executes them while
  /// it waits.
  void wait() { graph_.wait_for_all(); }

  /// Finished training steps, including those before the point at which the flow was resumed.
  [[nodiscard]] std::uint64_t steps() const;

 private:
  using MessageNode = tbb::flow::function_node<Message, tbb::flow::continue_msg>;
  using Work = std::function<void()>;

  /// The way into a segment or a join.
  struct Entrance {
    Deliver deliver;
    bool in_step = false;  ///< then only the training step may deliver
  };
  /// A node that handles one message at a time.
  struct Serial {
    Inbox inbox;
    Deliver handle;
  };
  /// An entrance to the training step.
  struct Lane {
    explicit Lane(StepQueue& queue) : lane(queue) {}
    StepLane lane;
    Deliver deliver;
  };

  [[nodiscard]] Deliver entrance_of(Segment& segment, bool in_step);
  /// Returns a function that queues messages for `handle`, which is called with one at a time.
  [[nodiscard]] Deliver serial_node(Workplace place, Deliver handle);
  void add_pump(Segment& segment, bool in_step);
  void connect();
  void connect_join(const std::vector<std::size_t>& inputs,
                    const std::vector<std::size_t>& consumers);
  /// Returns a function that passes a message from a node to an entrance. `from_step`: whether the
  /// training step calls it.
  [[nodiscard]] Deliver edge(std::size_t from, bool from_step, const Entrance& to,
                             std::size_t port);
  /// The same for a segment, whose waiting messages are counted.
  [[nodiscard]] Deliver edge_to_segment(std::size_t from, bool from_step, std::size_t segment);
  /// The lane of messages that are numbered like those of the node.
  [[nodiscard]] Lane& lane_of(std::size_t from);
  /// Lets a worker of TBB, or the thread if it is not null, do the work.
  void post(WorkThread* thread, const Work& work);

  const FlowSpec& flow_;
  const FlowPlan& plan_;
  const Segments& segments_;
  FlowState& state_;
  Activity& activity_;
  WorkThread& compute_;
  FlowPoints* points_;
  tbb::task_group_context context_;
  tbb::flow::graph graph_;
  tbb::flow::function_node<Work> workers_;
  std::vector<std::unique_ptr<MessageNode>> parallel_;
  std::deque<Serial> serial_;
  std::deque<Entrance> entrances_;  // of the segments, in order, then of the joins
  StepQueue step_queue_;
  std::map<std::size_t, Lane> lanes_;  // by the node whose numbers they carry
  std::vector<std::unique_ptr<Pump>> pumps_;
  std::vector<std::unique_ptr<WorkThread>> source_threads_;  // last: they call what is above
};

}  // namespace seam::host
