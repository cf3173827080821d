#include "pipeline/graph/wiring.hpp"

#include <algorithm>
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
      graph_(context_),
      workers_(graph_, tbb::flow::unlimited, [this](const Work& work) {
        work();
        activity_.end();
        return continue_msg();
      }) {
  for (std::size_t at = 0; at < segments_.size(); ++at) {
    Segment& segment = *segments_[at];
    const bool in_step = plan_.in_step[plan_.segments[at].nodes.front()];
    entrances_.push_back({entrance_of(segment, in_step), in_step});
    const StageKind kind = segment.last().kind();
    if (kind == StageKind::source || kind == StageKind::collector) add_pump(segment, in_step);
  }
  connect();
}

void Wiring::post(WorkThread* thread, const Work& work) {
  activity_.begin();
  if (thread == nullptr) {
    workers_.try_put(work);  // queueing nodes always accept
    return;
  }
  thread->post([this, work] {
    work();
    activity_.end();
  });
}

Deliver Wiring::entrance_of(Segment& segment, bool in_step) {
  Deliver handle = [target = &segment](Message&& message) {
    target->queue().leave();
    target->accept(std::move(message));
  };
  if (in_step) return handle;
  if (segment.place() != Workplace::parallel_workers) {
    return serial_node(segment.place(), std::move(handle));
  }
  const auto& specs = state_.options.stage_specs;
  const auto spec = specs.find(segment.first().name());
  std::size_t concurrency = tbb::flow::unlimited;
  if (spec != specs.end() && spec->second.concurrency) {
    concurrency = static_cast<std::size_t>(*spec->second.concurrency);
  }
  parallel_.push_back(std::make_unique<MessageNode>(
      graph_, concurrency, [this, handle = std::move(handle)](const Message& message) {
        handle(Message(message));
        activity_.end();
        return continue_msg();
      }));
  return [this, node = parallel_.back().get()](Message&& message) {
    activity_.begin();
    node->try_put(message);
  };
}

Deliver Wiring::serial_node(Workplace place, Deliver handle) {
  Serial& node = serial_.emplace_back();
  node.handle = std::move(handle);
  WorkThread* thread = place == Workplace::compute_thread ? &compute_ : nullptr;
  return [this, &node, thread](Message&& message) {
    if (!node.inbox.put(std::move(message))) return;
    post(thread, [&node] { node.inbox.drain(node.handle); });
  };
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
                              edge_to_segment(inputs.front(), plan_.in_step[inputs.front()], to));
  }
  // Stages after the same branches receive the same packet, joined once.
  for (const auto& [inputs, consumers] : behind_join) connect_join(inputs, consumers);
}

void Wiring::connect_join(const std::vector<std::size_t>& inputs,
                          const std::vector<std::size_t>& consumers) {
  const bool in_step =
      std::ranges::any_of(inputs, [&](std::size_t input) { return plan_.in_step[input]; });
  std::vector<std::string> names;
  std::vector<Deliver> enter;
  for (const std::size_t consumer : consumers) {
    names.push_back(flow_.nodes[consumer].stage);
    enter.push_back(edge_to_segment(inputs.front(), in_step, plan_.segment_of[consumer]));
  }
  Deliver handle = [join = std::make_shared<Join>(inputs.size()),
                    enter = std::move(enter)](Message&& message) {
    std::optional<Message> joined = join->accept(std::move(message));
    if (!joined) return;
    spread(std::move(*joined), enter.size(),
           [&](std::size_t at, Message&& copy) { enter[at](std::move(copy)); });
  };
  if (!in_step) handle = serial_node(Workplace::serial_worker, std::move(handle));
  const Entrance& entrance = entrances_.emplace_back(Entrance{std::move(handle), in_step});
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    segments_[plan_.segment_of[inputs[port]]]->add_edge(
        names, edge(inputs[port], plan_.in_step[inputs[port]], entrance, port));
  }
}

Deliver Wiring::edge(std::size_t from, bool from_step, const Entrance& to, std::size_t port) {
  if (to.in_step && from_step) {
    return [this, target = &to.deliver, port](Message&& message) {
      message.port = port;
      step_queue_.put(*target, std::move(message));
    };
  }
  Deliver deliver = [target = &to.deliver, port](Message&& message) {
    message.port = port;
    (*target)(std::move(message));
  };
  if (!to.in_step) return deliver;
  Lane& lane = lane_of(from);
  return [target = &lane.deliver, at = lane.lane.add_port(std::move(deliver))](Message&& message) {
    message.port = at;
    (*target)(std::move(message));
  };
}

Deliver Wiring::edge_to_segment(std::size_t from, bool from_step, std::size_t segment) {
  return [count = &segments_[segment]->queue(),
          enter = edge(from, from_step, entrances_[segment], 0)](Message&& message) {
    count->enter();
    enter(std::move(message));
  };
}

Wiring::Lane& Wiring::lane_of(std::size_t from) {
  const auto [found, is_new] = lanes_.try_emplace(plan_.numbered_by[from], step_queue_);
  Lane& lane = found->second;
  if (!is_new) return lane;
  if (points_ != nullptr) {  // then this is the only lane
    lane.lane.begin_at(state_.options.from.steps);
    lane.lane.on_boundary = [this](std::uint64_t steps, StepLane::Boundary boundary) {
      points_->stand_at(steps, boundary);
    };
  } else if (state_.run.lanes.ranks != nullptr) {
    lane.lane.on_boundary = [this](std::uint64_t /*steps*/, StepLane::Boundary /*boundary*/) {
      if (state_.ranks_shall_stop()) state_.halt();
    };
  }
  lane.deliver = serial_node(Workplace::compute_thread, [target = &lane.lane](Message&& message) {
    target->accept(std::move(message));
  });
  return lane;
}

std::uint64_t Wiring::steps() const {
  std::uint64_t steps = 0;
  for (const auto& [node, lane] : lanes_) steps = std::max(steps, lane.lane.steps());
  return steps;
}

void Wiring::add_pump(Segment& segment, bool in_step) {
  WorkThread* thread = nullptr;
  if (segment.place() == Workplace::compute_thread) {
    thread = &compute_;
  } else if (segment.last().kind() == StageKind::source) {
    thread = source_threads_.emplace_back(std::make_unique<WorkThread>()).get();
  }
  const std::size_t at = pumps_.size();
  auto start = [this, at, thread] {
    post(thread, [this, at] {
      if (pumps_[at]->run() == Pump::Left::done) activity_.end();
    });
  };
  pumps_.push_back(std::make_unique<Pump>(segment, state_, std::move(start)));
  segment.on_pumping = [this, at] {
    activity_.begin();  // until the pump is done: a parked pump has no task
    pumps_[at]->poke();
  };
  if (in_step) segment.on_portion = [this] { step_queue_.settle(); };
}

void Wiring::start() {
  // The first task binds the graph to its arena, which wait() reads without a lock: before other
  // threads post.
  post(nullptr, [] {});
  wait();
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

}  // namespace seam::host
