#include "pipeline/graph/wiring.hpp"

#include <optional>
#include <utility>

#include "pipeline/graph/join.hpp"

namespace seam::host {

using tbb::flow::continue_msg;

Wiring::Wiring(const FlowSpec& flow, const FlowPlan& plan, const Segments& segments,
               FlowState& state, Activity& activity, WorkThread& compute, FlowPoints* points)
    : flow_(flow),
      plan_(plan),
      segments_(segments),
      state_(state),
      activity_(activity),
      compute_(compute),
      points_(points),
      graph_(context_) {
  for (std::size_t at = 0; at < segments_.size(); ++at) {
    Segment& segment = *segments_[at];
    const bool in_step = plan_.in_step[plan_.segments[at].nodes.front()];
    add_segment(segment, in_step);
    const StageKind kind = segment.last().kind();
    if (kind == StageKind::source || kind == StageKind::collector) add_pump(segment, in_step);
  }
  connect();
}

void Wiring::add_segment(Segment& segment, bool in_step) {
  Segment* target = &segment;
  if (in_step) {
    entrances_.push_back(add_step([target](Message&& message) {
      target->queue().leave_shared();
      target->accept(std::move(message));
    }));
  } else if (segment.place() != Workplace::parallel_workers) {
    entrances_.push_back(add_serial(
        segment.place(), [target](Message&& message) { target->accept(std::move(message)); },
        &segment.queue()));
  } else {
    const auto& specs = state_.options.stage_specs;
    const auto spec = specs.find(segment.first().name());
    std::size_t concurrency = tbb::flow::unlimited;
    if (spec != specs.end() && spec->second.concurrency) {
      concurrency = static_cast<std::size_t>(*spec->second.concurrency);
    }
    parallel_.push_back(
        std::make_unique<MessageNode>(graph_, concurrency, [this, target](const Message& message) {
          target->queue().leave_shared();
          target->accept(Message(message));
          activity_.end();
          return continue_msg();
        }));
    entrances_.push_back({.parallel = parallel_.back().get()});
  }
}

Wiring::Entrance Wiring::add_serial(Workplace place, Deliver handle, QueueCount* count) {
  serial_.push_back(std::make_unique<Serial>(count));
  Serial* node = serial_.back().get();
  node->handle = std::move(handle);
  if (place != Workplace::compute_thread) {
    node->wake =
        std::make_unique<WakeNode>(graph_, tbb::flow::serial, [this, node](const continue_msg&) {
          node->inbox.drain(node->handle);
          activity_.end();
          return continue_msg();
        });
  }
  return {.serial = node};
}

Wiring::Entrance Wiring::add_step(Deliver handle) {
  step_.push_back(std::make_unique<const Deliver>(std::move(handle)));
  return {.step = step_.back().get()};
}

void Wiring::put(Serial& node, Message&& message) {
  if (!node.inbox.put(std::move(message))) return;
  activity_.begin();
  if (node.wake) {
    node.wake->try_put(continue_msg());
    return;
  }
  compute_.post([this, &node] {
    node.inbox.drain(node.handle);
    activity_.end();
  });
}

void Wiring::connect() {
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> behind_join;  // inputs -> consumers
  for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
    const std::vector<std::size_t>& inputs = flow_.nodes[node].inputs;
    if (inputs.size() > 1) behind_join[inputs].push_back(node);
    if (inputs.size() != 1) continue;
    const std::size_t from = plan_.segment_of[inputs.front()];
    const std::size_t to = plan_.segment_of[node];
    if (from == to) continue;
    segments_[from]->add_edge({flow_.nodes[node].stage},
                              edge(inputs.front(), plan_.in_step[inputs.front()], to));
  }
  // Stages after the same branches receive the same packet, joined once.
  for (const auto& [inputs, consumers] : behind_join) connect_join(inputs, consumers);
}

void Wiring::connect_join(const std::vector<std::size_t>& inputs,
                          const std::vector<std::size_t>& consumers) {
  bool in_step = false;
  for (const std::size_t input : inputs) in_step = in_step || plan_.in_step[input];
  std::vector<std::string> names;
  std::vector<Deliver> enter;
  for (const std::size_t consumer : consumers) {
    names.push_back(flow_.nodes[consumer].stage);
    enter.push_back(edge(inputs.front(), in_step, plan_.segment_of[consumer]));
  }
  Deliver handle = [join = std::make_shared<Join>(inputs.size()),
                    enter = std::move(enter)](Message&& message) {
    std::optional<Message> joined = join->accept(std::move(message));
    if (!joined) return;
    spread(std::move(*joined), enter.size(),
           [&](std::size_t at, Message&& copy) { enter[at](std::move(copy)); });
  };
  const Entrance entrance = in_step ? add_step(std::move(handle))
                                    : add_serial(Workplace::serial_worker, std::move(handle));
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    segments_[plan_.segment_of[inputs[port]]]->add_edge(
        names, edge(inputs[port], plan_.in_step[inputs[port]], entrance, port));
  }
}

Deliver Wiring::edge(std::size_t from, bool from_step, std::size_t segment) {
  Segment* target = segments_[segment].get();
  const Entrance& entrance = entrances_[segment];
  if (entrance.parallel != nullptr) {
    return [this, target, node = entrance.parallel](const Message& message) {
      target->queue().enter_shared();
      activity_.begin();
      node->try_put(message);  // queueing nodes always accept
    };
  }
  if (entrance.serial != nullptr) {
    return [this, node = entrance.serial](Message&& message) { put(*node, std::move(message)); };
  }
  return [target, enter = edge(from, from_step, entrance, 0)](Message&& message) {
    target->queue().enter_shared();
    enter(std::move(message));
  };
}

Deliver Wiring::edge(std::size_t from, bool from_step, const Entrance& to, std::size_t port) {
  if (to.step == nullptr) {
    return [this, node = to.serial, port](Message&& message) {
      message.port = port;
      put(*node, std::move(message));
    };
  }
  if (from_step) {
    return [this, target = to.step, port](Message&& message) {
      message.port = port;
      step_queue_.put(*target, std::move(message));
    };
  }
  std::unique_ptr<Lane>& lane = lanes_[plan_.numbered_by[from]];
  if (!lane) {
    lane = std::make_unique<Lane>(step_queue_);
    if (points_ != nullptr) {  // then this is the only lane
      lane->lane.begin_at(state_.options.from.steps);
      lane->lane.on_boundary = [this](std::uint64_t steps, StepLane::Boundary boundary) {
        points_->stand_at(steps, boundary);
      };
    }
    lane->entrance =
        add_serial(Workplace::compute_thread, [target = &lane->lane](Message&& message) {
          target->accept(std::move(message));
        }).serial;
  }
  const std::size_t at = lane->lane.add_port([target = to.step, port](Message&& message) {
    message.port = port;
    (*target)(std::move(message));
  });
  return [this, node = lane->entrance, at](Message&& message) {
    message.port = at;
    put(*node, std::move(message));
  };
}

std::uint64_t Wiring::steps() const {
  std::uint64_t steps = 0;
  for (const auto& [node, lane] : lanes_) steps = std::max(steps, lane->lane.steps());
  return steps;
}

void Wiring::add_pump(Segment& segment, bool in_step) {
  const std::size_t at = pumps_.size();
  std::function<void()> start;
  WorkThread* thread = nullptr;
  if (segment.place() == Workplace::compute_thread) {
    thread = &compute_;
  } else if (segment.last().kind() == StageKind::source) {
    thread = source_threads_.emplace_back(std::make_unique<WorkThread>()).get();
  }
  if (thread != nullptr) {
    pump_nodes_.push_back(nullptr);
    start = [this, at, thread] {
      activity_.begin();
      thread->post([this, at] {
        run_pump(*pumps_[at]);
        activity_.end();
      });
    };
  } else {
    pump_nodes_.push_back(
        std::make_unique<WakeNode>(graph_, tbb::flow::serial, [this, at](const continue_msg&) {
          run_pump(*pumps_[at]);
          activity_.end();
          return continue_msg();
        }));
    start = [this, at] {
      activity_.begin();
      pump_nodes_[at]->try_put(continue_msg());
    };
  }
  pumps_.push_back(std::make_unique<Pump>(segment, state_, std::move(start)));
  segment.on_pumping = [this, at] {
    activity_.begin();  // until the pump is done: a parked pump has no task
    pumps_[at]->poke();
  };
  if (in_step) segment.on_portion = [this] { step_queue_.settle(); };
}

void Wiring::start() {
  // A collector starts its pump by itself, which may happen while this loop still runs.
  for (const auto& pump : pumps_) {
    if (pump->segment().last().kind() == StageKind::source) pump->segment().on_pumping();
  }
}

void Wiring::poke() {
  for (const auto& pump : pumps_) {
    if (pump->segment().worth_waking()) pump->poke();
  }
}

void Wiring::run_pump(Pump& pump) {
  if (pump.run() == Pump::Left::done) activity_.end();
}

}  // namespace seam::host
