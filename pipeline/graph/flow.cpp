#include "pipeline/graph/flow.hpp"

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <utility>

#include "pipeline/graph/compute_thread.hpp"
#include "pipeline/graph/inbox.hpp"
#include "pipeline/graph/join.hpp"
#include "pipeline/graph/segment.hpp"

namespace seam::host {
namespace {

using tbb::flow::continue_msg;
using MessageNode = tbb::flow::function_node<Message, continue_msg>;
using WakeNode = tbb::flow::function_node<continue_msg, continue_msg>;

/// Counts what is still to happen in a flow: tasks, work on the compute thread, sources that wait
/// for room. The thread that runs the flow sleeps until it is zero; tbb::flow::graph::wait_for_all
/// would burn a core while it waits for the compute thread.
class Activity {
 public:
  void begin() { count_.fetch_add(1, std::memory_order_relaxed); }
  void end() {
    if (count_.fetch_sub(1) == 1) {
      const std::lock_guard lock(mutex_);
      quiet_.notify_all();
    }
  }
  /// Returns whether all is quiet, at once or within the time given.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return quiet_.wait_for(lock, time, [this] { return count_.load() == 0; });
  }

 private:
  std::atomic<std::int64_t> count_ = 0;
  std::mutex mutex_;
  std::condition_variable quiet_;
};

/// A serial node: an inbox, and who empties it.
struct SerialNode {
  Inbox inbox;
  std::function<void(Message)> handle;
  std::unique_ptr<WakeNode> wake;  ///< null: the compute thread empties it
};

/// Whoever watches may look at the flow for as long as this lives.
class Observed {
 public:
  Observed(const FlowOptions& options, std::function<std::vector<StageActivity>()> activity)
      : options_(options) {
    if (options_.progress != nullptr) options_.progress->observe(std::move(activity));
  }
  ~Observed() {
    if (options_.stop != nullptr) options_.stop->observe(nullptr);
    if (options_.progress != nullptr) options_.progress->observe(nullptr);
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  Observed(Observed&&) = delete;
  Observed& operator=(Observed&&) = delete;

 private:
  const FlowOptions& options_;  // the caller's, outlives the flow
};

/// One flow while it runs. Built in an order that lets the destructor undo it: the graph goes last,
/// after everything that points into it has come to rest.
class RunningFlow {
 public:
  RunningFlow(const FlowSpec& flow, std::map<std::string, std::unique_ptr<StageRunner>>& stages,
              const FlowOptions& options, int threads, ComputeThread& compute);

  FlowResult run();

 private:
  struct Pump {
    Segment* segment = nullptr;
    std::unique_ptr<WakeNode> node;  // null: pumped on the compute thread
    enum class State : std::uint8_t { idle, running, again, done };
    std::atomic<State> state = State::idle;
  };

  [[nodiscard]] bool joins_previous(std::size_t node) const;
  void make_segments();
  void make_nodes();
  void connect();
  void connect_join(const std::vector<std::size_t>& inputs,
                    const std::vector<std::size_t>& consumers);
  void add_pump(Segment& segment);
  void poke_all();
  void poke(Pump& pump);
  void run_pump(Pump& pump);
  std::unique_ptr<SerialNode> make_serial(Workplace place, std::function<void(Message)> handle);
  void put(SerialNode& node, Message message);
  std::function<void(Message)> entrance(std::size_t segment);
  [[nodiscard]] std::vector<StageActivity> activity() const;
  [[nodiscard]] FlowResult run_begun();
  [[nodiscard]] bool computes() const;
  void begin(StageRunner& stage);
  void interrupt_sources() const;
  [[nodiscard]] FlowResult result() const;
  void check_ledger(FlowResult& result) const;

  const FlowSpec& spec_;
  std::vector<StageRunner*> runners_;  // by flow node
  const FlowOptions& options_;
  ComputeThread& compute_;

  Activity activity_;
  tbb::task_group_context context_;
  tbb::flow::graph graph_;
  Budget budget_;
  FlowState state_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::vector<std::size_t> segment_of_;                 // by flow node
  std::vector<std::unique_ptr<MessageNode>> parallel_;  // by segment; null for serial ones
  std::vector<std::unique_ptr<SerialNode>> serial_;     // by segment; null for parallel ones
  std::vector<std::unique_ptr<SerialNode>> joins_;
  std::vector<std::unique_ptr<Pump>> pumps_;
  std::atomic<bool> closing_ = false;
  std::atomic<const StageRunner*> beginning_ = nullptr;  // the stage inside its begin()
};

RunState with_training(RunState run, const std::vector<StageRunner*>& runners) {
  run.training = std::ranges::any_of(
      runners, [](const StageRunner* runner) { return runner->description().trains; });
  return run;
}

std::vector<StageRunner*> runners_of(const FlowSpec& flow,
                                     std::map<std::string, std::unique_ptr<StageRunner>>& stages) {
  std::vector<StageRunner*> runners;
  for (const FlowNode& node : flow.nodes) runners.push_back(stages.at(node.stage).get());
  return runners;
}

Workplace workplace_of(const StageRunner& stage) {
  if (stage.on_compute_thread()) return Workplace::compute_thread;
  return stage.kind() == StageKind::parallel_transform ? Workplace::parallel_workers
                                                       : Workplace::serial_worker;
}

RunningFlow::RunningFlow(const FlowSpec& flow,
                         std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                         const FlowOptions& options, int threads, ComputeThread& compute)
    : spec_(flow),
      runners_(runners_of(flow, stages)),
      options_(options),
      compute_(compute),
      graph_(context_),
      budget_(options.limits.packets, options.limits.bytes, std::int64_t{4} * threads + 4,
              [this] { poke_all(); }),
      state_(options, with_training(options.run, runners_), budget_) {
  make_segments();
  make_nodes();
  connect();
}

/// Whether a node continues its input's segment: same workplace, nothing else on that edge, and a
/// workplace where one packet at a time passes anyway or order does not matter.
bool RunningFlow::joins_previous(std::size_t node) const {
  const FlowNode& flow_node = spec_.nodes[node];
  if (flow_node.inputs.size() != 1) return false;
  const std::size_t input = flow_node.inputs.front();
  const auto users = std::ranges::count_if(spec_.nodes, [input](const FlowNode& other) {
    return std::ranges::count(other.inputs, input) > 0;
  });
  const StageKind before = runners_[input]->kind();
  const StageKind here = runners_[node]->kind();
  const Workplace place = workplace_of(*runners_[node]);
  const auto limit = [this](std::size_t at) {
    const auto spec = options_.stage_specs.find(spec_.nodes[at].stage);
    return spec == options_.stage_specs.end() ? std::nullopt : spec->second.concurrency;
  };
  return users == 1 && place == workplace_of(*runners_[input]) &&
         place != Workplace::serial_worker && limit(input) == limit(node) &&
         before != StageKind::source && before != StageKind::collector &&
         here != StageKind::collector;
}

void RunningFlow::make_segments() {
  std::vector<std::vector<StageRunner*>> groups;
  for (std::size_t node = 0; node < spec_.nodes.size(); ++node) {
    if (joins_previous(node)) {
      segment_of_.push_back(segment_of_[spec_.nodes[node].inputs.front()]);
      groups[segment_of_.back()].push_back(runners_[node]);
    } else {
      segment_of_.push_back(groups.size());
      groups.push_back({runners_[node]});
    }
  }
  for (std::vector<StageRunner*>& group : groups) {
    const Workplace place = workplace_of(*group.front());
    segments_.push_back(std::make_unique<Segment>(state_, place, std::move(group)));
  }
}

void RunningFlow::make_nodes() {
  for (const auto& segment_pointer : segments_) {
    Segment* segment = segment_pointer.get();
    if (segment->place() == Workplace::parallel_workers) {
      const auto spec = options_.stage_specs.find(segment->first().name());
      std::size_t concurrency = tbb::flow::unlimited;
      if (spec != options_.stage_specs.end() && spec->second.concurrency) {
        concurrency = static_cast<std::size_t>(*spec->second.concurrency);
      }
      parallel_.push_back(std::make_unique<MessageNode>(graph_, concurrency,
                                                        [this, segment](const Message& message) {
                                                          segment->leave_queue();
                                                          segment->accept(message);
                                                          activity_.end();
                                                          return continue_msg();
                                                        }));
      serial_.push_back(nullptr);
    } else {
      parallel_.push_back(nullptr);
      serial_.push_back(make_serial(segment->place(), [segment](Message message) {
        segment->leave_queue();
        segment->accept(std::move(message));
      }));
    }
    const StageKind kind = segment->last().kind();
    if (kind == StageKind::source || kind == StageKind::collector) add_pump(*segment);
  }
}

std::unique_ptr<SerialNode> RunningFlow::make_serial(Workplace place,
                                                     std::function<void(Message)> handle) {
  auto node = std::make_unique<SerialNode>();
  node->handle = std::move(handle);
  if (place != Workplace::compute_thread) {
    node->wake = std::make_unique<WakeNode>(graph_, tbb::flow::serial,
                                            [this, target = node.get()](const continue_msg&) {
                                              target->inbox.drain(target->handle);
                                              activity_.end();
                                              return continue_msg();
                                            });
  }
  return node;
}

void RunningFlow::put(SerialNode& node, Message message) {
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

/// How messages get into a segment.
std::function<void(Message)> RunningFlow::entrance(std::size_t segment) {
  Segment* target = segments_[segment].get();
  if (target->place() == Workplace::parallel_workers) {
    return [this, target, node = parallel_[segment].get()](const Message& message) {
      target->enter_queue();
      activity_.begin();
      node->try_put(message);  // queueing nodes accept always
    };
  }
  return [this, target, node = serial_[segment].get()](Message message) {
    target->enter_queue();
    put(*node, std::move(message));
  };
}

void RunningFlow::connect() {
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> behind_join;  // inputs -> consumers
  for (std::size_t node = 0; node < spec_.nodes.size(); ++node) {
    const std::vector<std::size_t>& inputs = spec_.nodes[node].inputs;
    if (inputs.size() > 1) behind_join[inputs].push_back(node);
    if (inputs.size() != 1 || segment_of_[inputs.front()] == segment_of_[node]) continue;
    segments_[segment_of_[inputs.front()]]->add_edge({spec_.nodes[node].stage},
                                                     entrance(segment_of_[node]));
  }
  // What stands behind the same branches gets the same packet, joined once.
  for (const auto& [inputs, consumers] : behind_join) connect_join(inputs, consumers);
}

void RunningFlow::connect_join(const std::vector<std::size_t>& inputs,
                               const std::vector<std::size_t>& consumers) {
  std::vector<std::string> names;
  std::vector<std::function<void(Message)>> enter;
  for (const std::size_t consumer : consumers) {
    names.push_back(spec_.nodes[consumer].stage);
    enter.push_back(entrance(segment_of_[consumer]));
  }
  joins_.push_back(make_serial(
      Workplace::serial_worker,
      [join = std::make_shared<Join>(inputs.size()), enter = std::move(enter)](Message message) {
        std::optional<Message> joined = join->accept(std::move(message));
        if (!joined) return;
        spread(std::move(*joined), enter.size(),
               [&](std::size_t at, Message copy) { enter[at](std::move(copy)); });
      }));
  SerialNode* node = joins_.back().get();
  for (std::size_t port = 0; port < inputs.size(); ++port) {
    segments_[segment_of_[inputs[port]]]->add_edge(names, [this, node, port](Message message) {
      message.port = port;
      put(*node, std::move(message));
    });
  }
}

void RunningFlow::add_pump(Segment& segment) {
  auto pump = std::make_unique<Pump>();
  pump->segment = &segment;
  if (segment.place() != Workplace::compute_thread) {
    pump->node = std::make_unique<WakeNode>(graph_, tbb::flow::serial,
                                            [this, target = pump.get()](const continue_msg&) {
                                              run_pump(*target);
                                              activity_.end();
                                              return continue_msg();
                                            });
  }
  segment.on_pumping = [this, target = pump.get()] {
    activity_.begin();  // until the pump is done: a parked pump has no task
    poke(*target);
  };
  pumps_.push_back(std::move(pump));
}

void RunningFlow::poke_all() {
  if (options_.progress != nullptr) {
    options_.progress->finished.store(budget_.finished(), std::memory_order_relaxed);
    options_.progress->in_flight.store(static_cast<std::uint64_t>(budget_.packets()),
                                       std::memory_order_relaxed);
  }
  if (closing_) return;
  for (const auto& pump : pumps_) poke(*pump);
}

void RunningFlow::poke(Pump& pump) {
  if (!pump.segment->pumping()) return;
  Pump::State seen = pump.state.load();
  while (true) {
    if (seen == Pump::State::again || seen == Pump::State::done) return;
    const Pump::State next = seen == Pump::State::idle ? Pump::State::running : Pump::State::again;
    if (!pump.state.compare_exchange_weak(seen, next)) continue;
    if (seen != Pump::State::idle) return;
    break;
  }
  activity_.begin();
  if (pump.node) {
    pump.node->try_put(continue_msg());
  } else {
    compute_.post([this, &pump] {
      run_pump(pump);
      activity_.end();
    });
  }
}

void RunningFlow::run_pump(Pump& pump) {
  while (true) {
    if (pump.segment->pump() == More::no) {
      pump.state = Pump::State::done;
      activity_.end();
      return;
    }
    // No room. Park, unless a place was freed since the pump looked.
    Pump::State seen = Pump::State::running;
    if (pump.state.compare_exchange_strong(seen, Pump::State::idle)) {
      // A place freed between the look and the park has poked a running pump in vain.
      if (!budget_.room() && !state_.discarding()) return;
      seen = Pump::State::idle;
      if (!pump.state.compare_exchange_strong(seen, Pump::State::running)) return;
    } else {
      pump.state = Pump::State::running;  // was: again
    }
  }
}

FlowResult RunningFlow::run() {
  const Observed observed(options_, [this] { return activity(); });
  try {
    for (std::size_t node = 0; node < runners_.size(); ++node) {
      std::vector<StageRunner*> upstream;
      for (const std::size_t at : upstream_of(spec_, node)) upstream.push_back(runners_[at]);
      runners_[node]->bind_upstream(upstream);
      if (!runners_[node]->on_compute_thread()) begin(*runners_[node]);
    }
    if (computes()) {
      compute_.run([this] {
        for (StageRunner* stage : runners_) {
          if (!stage->on_compute_thread()) continue;
          stage->enter_thread(state_.run);
          begin(*stage);
        }
      });
    }
  } catch (const Error& error) {
    state_.fail(error);
    return result();
  }
  if (options_.stop != nullptr) options_.stop->observe([this] { interrupt_sources(); });
  return run_begun();
}

bool RunningFlow::computes() const {
  return std::ranges::any_of(runners_,
                             [](const StageRunner* stage) { return stage->on_compute_thread(); });
}

void RunningFlow::begin(StageRunner& stage) {
  beginning_ = &stage;
  stage.begin(state_.run);
  beginning_ = nullptr;
}

void RunningFlow::interrupt_sources() const {
  for (const StageRunner* runner : runners_) {
    if (runner->kind() == StageKind::source) runner->interrupt();
  }
}

FlowResult RunningFlow::run_begun() {
  const auto from = std::chrono::steady_clock::now();
  compute_.take_idle_seconds();
  // Only sources: a collector starts its pump by itself, which may happen while this loop still
  // runs.
  for (const auto& pump : pumps_) {
    if (pump->segment->first().kind() == StageKind::source) pump->segment->on_pumping();
  }
  // TBB wants its waiting thread in the arena where tasks are spawned: it works there while there
  // are any. While the compute thread alone works it sleeps, for TBB's own wait would burn a core.
  do {
    graph_.wait_for_all();
  } while (!activity_.wait_for(std::chrono::milliseconds(1)));
  graph_.wait_for_all();
  compute_.run([] {});  // its last work may still be letting go of the flow
  closing_ = true;
  FlowResult flow_result = result();
  flow_result.compute_idle_seconds = computes() ? compute_.take_idle_seconds() : 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
  flow_result.seconds = took.count();
  return flow_result;
}

std::vector<StageActivity> RunningFlow::activity() const {
  std::vector<StageActivity> activity;
  for (const auto& segment : segments_) {
    for (std::size_t at = 0; at < segment->stages().size(); ++at) {
      const StageRunner& stage = *segment->stages()[at];
      const Segment::Counter& counter = segment->counter(at);
      const bool last = at + 1 == segment->stages().size();
      StageActivity now;
      now.stage = stage.name();
      now.kind = stage.kind();
      // Loaded before `received`: a packet that leaves meanwhile is not counted below zero.
      const std::uint64_t through = counter.delivered + counter.dropped_total + counter.failed;
      const std::uint64_t received = counter.received;
      now.done = through + counter.emitted;
      if (stage.kind() != StageKind::source) now.inside = received - std::min(through, received);
      now.waiting = at == 0 ? segment->waiting() : 0;
      if (&stage == beginning_) {
        now.call = StageActivity::Call::begin;
      } else if (&stage == segment->calling()) {
        now.call = stage.kind() == StageKind::source ? StageActivity::Call::produce
                                                     : StageActivity::Call::end;
      }
      now.waits_for_room =
          last && segment->pumping() && now.call == StageActivity::Call::none && !budget_.room();
      activity.push_back(std::move(now));
    }
  }
  return activity;
}

FlowResult RunningFlow::result() const {
  FlowResult result;
  for (const auto& segment : segments_) {
    for (std::size_t at = 0; at < segment->stages().size(); ++at) {
      const StageRunner& stage = *segment->stages()[at];
      Segment::Counter& counter = segment->counter(at);
      StageCount count;
      count.stage = stage.name();
      count.kind = stage.kind();
      count.received = counter.received;
      count.delivered = counter.delivered;
      count.emitted = counter.emitted;
      count.failed = counter.failed;
      count.discarded = counter.discarded;
      count.dropped = counter.dropped;
      count.busy_seconds = static_cast<double>(counter.busy_nanoseconds.load()) * 1e-9;
      count.waiting_most = at == 0 ? segment->waiting_most() : 0;
      result.stages.push_back(std::move(count));
    }
  }
  result.error = state_.error();
  result.skipped = state_.skipped();
  result.failures = state_.failures();
  result.cancelled = options_.stop != nullptr && (options_.stop->cancel || options_.stop->drain);
  result.packets_peak = static_cast<std::uint64_t>(budget_.packets_peak());
  result.bytes_peak = static_cast<std::uint64_t>(budget_.bytes_peak());
  check_ledger(result);
  return result;
}

void RunningFlow::check_ledger(FlowResult& result) const {
  const auto sentence = [&](const std::string& text) { result.imbalances.push_back(text); };
  for (const StageCount& count : result.stages) {
    if (count.kind == StageKind::source) continue;
    const std::uint64_t accounted = count.delivered + count.dropped_total() + count.failed;
    if (accounted != count.received) {
      sentence("stage '" + count.stage + "' received " + std::to_string(count.received) +
               " packets but accounts for " + std::to_string(accounted));
    }
  }
  std::map<std::string, std::uint64_t> received;
  for (const StageCount& count : result.stages) {
    received[count.stage] = count.received + count.discarded;
  }
  for (std::size_t at = 0; at < segments_.size(); ++at) {
    for (const auto& edge : segments_[at]->edges()) {
      const std::uint64_t sent = edge->packets;
      for (const std::string& to : edge->to) {
        // A join waits for all its inputs: with a gap on one, the packets of the others end there.
        const bool joined = std::ranges::any_of(spec_.nodes, [&](const FlowNode& node) {
          return node.stage == to && node.inputs.size() > 1;
        });
        if (joined ? sent < received[to] : sent != received[to]) {
          sentence("'" + edge->from + "' sent " + std::to_string(sent) + " packets to '" + to +
                   "', which received " + std::to_string(received[to]));
        }
      }
    }
  }
}

}  // namespace

std::vector<StageActivity> FlowProgress::activity() const {
  const std::lock_guard lock(mutex_);
  return observer_ ? observer_() : std::vector<StageActivity>();
}

void FlowProgress::observe(std::function<std::vector<StageActivity>()> observer) {
  const std::lock_guard lock(mutex_);
  observer_ = std::move(observer);
}

void StopState::observe(std::function<void()> interrupt) {
  const std::lock_guard lock(mutex_);
  interrupt_ = std::move(interrupt);
  if (interrupt_ && (drain || cancel)) interrupt_();
}

void StopState::interrupt() {
  const std::lock_guard lock(mutex_);
  if (interrupt_) interrupt_();
}

std::uint64_t StageCount::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

/// TBB's own limit stands for as long as the engine lives.
struct FlowEngine::Workers {
  explicit Workers(int threads)
      : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)),
        arena(threads) {}
  tbb::global_control limit;
  tbb::task_arena arena;
};

FlowEngine::FlowEngine(int threads)
    : workers_(std::make_unique<Workers>(threads)),
      compute_(std::make_unique<ComputeThread>()),
      threads_(threads) {}

FlowEngine::~FlowEngine() = default;

void FlowEngine::on_compute_thread(const std::function<void()>& work) {
  compute_->run(work);
}

FlowResult FlowEngine::run(const FlowSpec& flow,
                           std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                           const FlowOptions& options) {
  FlowResult result;
  workers_->arena.execute([&] {
    RunningFlow running(flow, stages, options, threads_, *compute_);
    result = running.run();
  });
  return result;
}

}  // namespace seam::host
