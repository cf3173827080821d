#include "pipeline/graph/flow.hpp"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "pipeline/graph/activity.hpp"
#include "pipeline/graph/flow_points.hpp"
#include "pipeline/graph/flow_state.hpp"
#include "pipeline/graph/ledger.hpp"
#include "pipeline/graph/plan.hpp"
#include "pipeline/graph/resumable.hpp"
#include "pipeline/graph/sharding.hpp"
#include "pipeline/graph/wiring.hpp"
#include "pipeline/graph/work_thread.hpp"
#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

/// The run's state for this flow.
RunState state_for(const FlowPlan& plan, const std::vector<StageRunner*>& stages, RunState run) {
  run.training = trains(stages);
  // Ranks exchange the results of networks in the order in which they compute them.
  if (!run.training && !networks_have_an_order(plan, stages)) run.lanes.ranks = nullptr;
  return run;
}

Segments segments_of(const FlowPlan& plan, const std::vector<StageRunner*>& runners,
                     FlowState& state) {
  Segments segments;
  for (const SegmentPlan& planned : plan.segments) {
    segments.push_back(std::make_unique<Segment>(
        state, planned.place,
        mapped(planned.nodes, [&](std::size_t node) { return runners[node]; })));
  }
  return segments;
}

/// Wakes sources that wait for input when the flow should end.
///
/// Source::interrupt() is plugin code and may take time. A flow fails or halts on a thread that
/// others need, so a separate thread interrupts the sources. Two threads never interrupt at once.
class Interrupter {
 public:
  /// Interrupts the sources among these stages, which outlive this object.
  explicit Interrupter(const std::vector<StageRunner*>& stages) {
    for (const StageRunner* stage : stages) {
      if (stage->kind() == StageKind::source) sources_.push_back(stage);
    }
  }
  /// Interrupts on this thread, after another thread that is interrupting.
  void interrupt() {
    const std::lock_guard lock(mutex_);
    for (const StageRunner* source : sources_) source->interrupt();
  }
  /// Interrupts on another thread; at most one call.
  void interrupt_elsewhere() noexcept {
    try {
      elsewhere_ = std::jthread([this] { interrupt(); });
    } catch (const std::system_error&) {
      // No thread can be created: a waiting source then ends with its next packet, or on a signal.
      return;
    }
  }
  /// Waits until no source is being interrupted elsewhere; to be called before the stages are
  /// closed.
  void wait() {
    if (elsewhere_.joinable()) elsewhere_.join();
  }

 private:
  std::vector<const StageRunner*> sources_;
  std::mutex mutex_;
  std::jthread elsewhere_;  // last: joined before the others are destroyed
};

/// One flow while it runs. The members are in destruction order: the wiring is destroyed first,
/// after everything that it calls has finished.
class RunningFlow {
 public:
  RunningFlow(const FlowSpec& flow, std::map<std::string, std::unique_ptr<StageRunner>>& stages,
              const FlowOptions& options, int threads, WorkThread& compute)
      : spec_(flow),
        runners_(runners_of(flow, stages)),
        options_(options),
        compute_(compute),
        budget_(options.limits.packets, options.limits.bytes, std::int64_t{4} * threads + 4,
                [this] { place_freed(); }),
        plan_(plan_of(flow, runners_, options.stage_specs)),
        state_(options, state_for(plan_, runners_, options.run), budget_),
        interrupter_(runners_),
        segments_(segments_of(plan_, runners_, state_)),
        resumable_(resumable_of(flow, plan_, runners_, options.stage_specs)) {
    if (options.keeper != nullptr && resumable_.obstacle.empty()) find_points();
    if (options.extent == Extent::first_batch) limit_to_first_batch();
    if (options.shard) split();
    wiring_.emplace(flow, plan_, segments_, state_, activity_, compute,
                    points_ ? &*points_ : nullptr);
  }
  ~RunningFlow() {
    if (options_.stop != nullptr) options_.stop->observe(nullptr);
    if (options_.progress != nullptr) options_.progress->observe(nullptr);
  }

  FlowResult run();

 private:
  void find_points();
  void limit_to_first_batch();
  void split();
  /// Throws seam::Error if the flow should resume from a point but has no points.
  void refuse_point_without_points() const;
  void begin_all();
  void begin(StageRunner& stage);
  void place_freed();
  [[nodiscard]] FlowResult run_begun();
  [[nodiscard]] bool computes() const;
  [[nodiscard]] FlowResult result() const;

  const FlowSpec& spec_;
  std::vector<StageRunner*> runners_;  // by flow node
  const FlowOptions& options_;
  WorkThread& compute_;
  std::atomic<bool> closing_ = false;
  std::atomic<const StageRunner*> beginning_ = nullptr;  // the stage inside its begin()

  Activity activity_;
  Budget budget_;
  FlowPlan plan_;
  FlowState state_;
  Interrupter interrupter_;
  Segments segments_;
  Resumable resumable_;
  std::optional<FlowPoints> points_;  // none: the flow cannot be suspended
  std::optional<Wiring> wiring_;      // never empty
};

void RunningFlow::find_points() {
  points_.emplace(state_, resumable_, runners_);
  const FlowPoint& from = options_.from;
  for (std::size_t at = 0; at < segments_.size(); ++at) {
    Segment& segment = *segments_[at];
    const std::size_t node = plan_.segments[at].nodes.back();
    const Replay replay = resumable_.replay[node];
    segment.set_points(node == resumable_.collector ? &*points_ : nullptr, replay);
    if (node == resumable_.numbering) segment.pass_over(from.inputs);
    if (node == resumable_.collector) segment.begin_at(0, from.steps);
    if (replay == Replay::batches || replay == Replay::none) segment.begin_at(from.steps, 0);
  }
}

void RunningFlow::limit_to_first_batch() {
  const std::vector<std::size_t> makers = batch_makers_of(spec_, runners_);
  state_.limit_batches(makers.size());
  for (const std::size_t maker : makers) {
    segments_[plan_.segment_of[maker]]->set_for_batch(Segment::ForBatch::makes_it);
    for (const std::size_t node : upstream_of(spec_, maker)) {
      segments_[plan_.segment_of[node]]->set_for_batch(Segment::ForBatch::leads_to_it);
    }
  }
}

void RunningFlow::split() {
  const Sharding sharding = sharding_of(spec_, plan_, runners_);
  if (!sharding.obstacle.empty()) state_.fail(cannot_split(spec_, sharding));
  for (std::size_t node = 0; node < runners_.size(); ++node) {
    if (runners_[node]->kind() != StageKind::source) continue;
    segments_[plan_.segment_of[node]]->set_block(sharding.blocks[node]);
  }
}

void RunningFlow::place_freed() {
  if (options_.progress != nullptr) {
    options_.progress->finished.store(budget_.finished(), std::memory_order_relaxed);
  }
  if (!closing_) wiring_->poke();
}

FlowResult RunningFlow::run() {
  if (options_.progress != nullptr) {
    options_.progress->observe([this] { return stage_activity(segments_, beginning_); });
  }
  try {
    refuse_point_without_points();
    begin_all();
    if (points_ && options_.from.steps > 0) options_.keeper->going_on(points_->stages());
  } catch (const Error& error) {
    state_.fail(error);
    return result();
  }
  if (options_.keeper != nullptr && !points_ && trains(runners_)) {
    options_.keeper->cannot_keep(resumable_.obstacle);
  }
  state_.on_end = [this] { interrupter_.interrupt_elsewhere(); };
  if (options_.stop != nullptr) options_.stop->observe([this] { interrupter_.interrupt(); });
  return run_begun();
}

void RunningFlow::refuse_point_without_points() const {
  if (points_ || options_.from.steps == 0) return;
  throw Error("flow '" + spec_.name + "' cannot be resumed after step " +
                  std::to_string(options_.from.steps) + ": " + resumable_.obstacle,
              Fault::configuration);
}

void RunningFlow::begin_all() {
  for (std::size_t node = 0; node < runners_.size(); ++node) {
    runners_[node]->bind_upstream(
        mapped(upstream_of(spec_, node), [&](std::size_t at) { return runners_[at]; }));
    if (!runners_[node]->on_compute_thread()) begin(*runners_[node]);
  }
  if (!computes()) return;
  compute_.run([this] {
    for (StageRunner* stage : runners_) {
      if (!stage->on_compute_thread()) continue;
      stage->enter_thread(state_.run);
      begin(*stage);
    }
  });
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

FlowResult RunningFlow::run_begun() {
  const auto from = std::chrono::steady_clock::now();
  compute_.take_idle_seconds();
  wiring_->start();
  // While only the compute thread works, this thread sleeps, because TBB's wait would burn a core.
  do {
    wiring_->wait();
  } while (!activity_.wait_for(std::chrono::milliseconds(1)));
  wiring_->wait();
  compute_.run([] {});  // its last work may still refer to the flow
  interrupter_.wait();
  closing_ = true;
  FlowResult flow_result = result();
  flow_result.compute_idle_seconds = computes() ? compute_.take_idle_seconds() : 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
  flow_result.seconds = took.count();
  return flow_result;
}

FlowResult RunningFlow::result() const {
  FlowResult result;
  result.stages = stage_counts(segments_, state_.clock.seconds_a_tick(), state_.backward);
  result.error = state_.error();
  if (wiring_) result.steps = wiring_->steps();
  result.skipped = state_.skipped();
  result.failures = state_.failures();
  result.cancelled = state_.curtailed() && (state_.stop_requested() || state_.ranks_shall_stop());
  result.packets_peak = static_cast<std::uint64_t>(budget_.packets_peak());
  result.bytes_peak = static_cast<std::uint64_t>(budget_.bytes_peak());
  const bool early = result.error || result.cancelled || options_.extent == Extent::first_batch;
  result.imbalances =
      imbalances(spec_, segments_, result.stages, early ? Ended::early : Ended::whole);
  return result;
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
  if (interrupt_ && (soon || cancel)) interrupt_();
}

void StopState::interrupt() {
  const std::lock_guard lock(mutex_);
  if (interrupt_) interrupt_();
}

std::uint64_t StageCount::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

/// TBB's own limit applies during the lifetime of the engine.
struct FlowEngine::Workers {
  class Stacks final : public tbb::task_scheduler_observer {
   public:
    explicit Stacks(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
    // Waits for calls of a worker, before this part of the object is gone.
    ~Stacks() override { observe(false); }
    void on_scheduler_entry(bool /*is_worker*/) override { use_alternate_stack(); }
  };

  explicit Workers(int threads)
      : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)),
        arena(threads),
        stacks(arena) {}
  tbb::global_control limit;
  tbb::task_arena arena;
  Stacks stacks;
};

FlowEngine::FlowEngine(int threads)
    : workers_(std::make_unique<Workers>(threads)),
      compute_(std::make_unique<WorkThread>()),
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
