/// Runs one flow once, from its sources' first packet to its sinks' end.
///
///     FlowSpec ──► segments ──► oneTBB flow graph ──► FlowResult (the ledger)
///
/// A segment is a run of stages that work on one packet back to back: neighbouring parallel stages,
/// one serial stage, or neighbouring stages of the compute thread. If a flow trains, one batch at a
/// time passes from its first stage on the compute thread to its ends (step.hpp).
///
///     source ─►│ decode augment │─►│ batch │─►│ model loss adam │
///       ▲        parallel workers    serial      compute thread  │
///       └──────────── tickets: bounded packets and bytes ────────┘
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/graph/call_memory.hpp"
#include "pipeline/graph/durations.hpp"
#include "pipeline/graph/shard.hpp"
#include "seam/runner.hpp"

namespace seam::host {

/// One line of the ledger: what a stage did with the packets it received.
struct StageCount {
  std::string stage;
  StageKind kind = StageKind::transform;
  std::uint64_t received = 0;   ///< packets that arrived (0 for a source)
  std::uint64_t delivered = 0;  ///< passed on, or consumed by a sink or collector
  std::uint64_t emitted = 0;    ///< made by a source or collector
  std::uint64_t failed = 0;
  std::uint64_t discarded = 0;  ///< arrived after an error or a cancellation; not in `received`
  std::map<std::string, std::uint64_t> dropped;  ///< by reason
  double backward_seconds = 0;                   ///< for its gradients, in an optimizer's calls
  double busy_seconds = 0;                       ///< time inside the stage, summed over threads
  CallMemory memory;                             ///< on the compute thread in a training flow
  Durations packet_times;                        ///< time inside the stage per packet
  std::uint64_t waiting_most = 0;                ///< longest queue seen before the stage
  /// Of a source that is split into shards: a hash of the origins of all packets, also of other
  /// shards, in order; otherwise 0.
  std::uint64_t listing = 0;

  [[nodiscard]] std::uint64_t dropped_total() const;
};

/// A packet that failed and was skipped.
struct Failure {
  std::string stage;
  std::string origin;
  std::string message;
  Fault fault = Fault::data;

  friend bool operator==(const Failure&, const Failure&) = default;
  /// The order in which they are listed.
  friend bool operator<(const Failure& a, const Failure& b) {
    return std::tie(a.stage, a.origin, a.message) < std::tie(b.stage, b.origin, b.message);
  }
};

/// A point between two steps of a training flow from which another process can resume the flow.
///
///     inputs   0 1 2 3 4 5 6 7 8 ...     the first `inputs` of them are not decoded again
///     batches  └─ 0 ─┘ └─ 1 ─┘           the first `steps` of them are in the stages' states
struct FlowPoint {
  std::uint64_t steps = 0;        ///< finished batches; 0: the flow's start
  std::uint64_t inputs = 0;       ///< packets that the batching collector received for them
  std::uint64_t skipped = 0;      ///< failed packets among those that are not run again
  std::vector<Failure> failures;  ///< of these packets, as in FlowResult

  friend bool operator==(const FlowPoint&, const FlowPoint&) = default;
};

/// The stages of a flow that resumes from a point, by how they are handled.
struct PointStages {
  std::vector<std::string> passed_over;  ///< receive only the packets after the point
  std::vector<std::string> in_step;      ///< continue with their saved state
};

/// Writes checkpoints within a flow. wants_point() and keep() are called on the compute thread,
/// while the flow waits.
class FlowKeeper {
 public:
  virtual ~FlowKeeper() = default;
  /// Returns whether to keep the next point although no stop was requested; called after each step.
  [[nodiscard]] virtual bool wants_point(std::uint64_t steps) = 0;
  /// The stages are in their states after point.steps. Returns why the point cannot be kept, empty
  /// if it was kept. Throws seam::Error if writing fails.
  [[nodiscard]] virtual std::string keep(const FlowPoint& point, const PointStages& stages) = 0;
  /// Called when the stages of a resumed flow have begun, before its first packet.
  virtual void going_on(const PointStages& stages) = 0;
  /// Called at most once, when the flow turns out to have no points.
  virtual void cannot_keep(const std::string& why) = 0;
};

struct FlowResult {
  std::vector<StageCount> stages;  ///< in flow order
  std::uint64_t steps = 0;         ///< of training, with those of the process that was resumed
  std::uint64_t skipped = 0;       ///< packets that failed and were skipped
  std::vector<Failure> failures;   ///< the first 10,000 of these, ordered by stage and origin
  std::optional<Error> error;      ///< what ended the flow early
  bool cancelled = false;          ///< stopped on request, before its end
  double seconds = 0;
  double compute_idle_seconds = 0;  ///< the compute thread waited for data; 0 if it has no stage
  std::uint64_t packets_peak = 0;   ///< maximum number of tickets at one time
  std::uint64_t bytes_peak = 0;
  std::vector<std::string> imbalances;  ///< ledger sentences; not empty: the flow must fail
};

/// The current activity of one stage.
struct StageActivity {
  std::string stage;
  StageKind kind = StageKind::transform;
  std::uint64_t done = 0;     ///< packets that it has finished or made
  std::uint64_t inside = 0;   ///< packets that it is working on
  std::uint64_t waiting = 0;  ///< packets before it
  /// The call that it is in, other than process().
  enum class Call : std::uint8_t { none, begin, produce, end };
  Call call = Call::none;
  bool waits_for_room = false;  ///< it would make packets, but [limits] are reached
};

/// Live progress, for display; another thread may read it at any time.
class FlowProgress {
 public:
  std::atomic<std::uint64_t> finished = 0;  ///< packets; a batch counts as its images

  /// By stage, in flow order; empty while no flow runs.
  [[nodiscard]] std::vector<StageActivity> activity() const;
  /// Called by the flow with a function that returns the activity, and at its end with null.
  void observe(std::function<std::vector<StageActivity>()> observer);

 private:
  mutable std::mutex mutex_;
  std::function<std::vector<StageActivity>()> observer_;
};

/// Stop requests of a run to its flows; shared with the signal handler's thread.
class StopState {
 public:
  /// The flow ends at its next point (FlowKeeper), or after the current packets if it has none.
  std::atomic<bool> soon = false;
  std::atomic<bool> cancel = false;  ///< everything stops after the current packets

  /// Interrupts the sources of the running flow. This may take time, because it calls plugin code.
  void interrupt();
  /// Called by the flow with a function that interrupts its sources, and at its end with null.
  /// Calls the function at once if a stop was requested before.
  void observe(std::function<void()> interrupt);

 private:
  std::mutex mutex_;
  std::function<void()> interrupt_;
};

/// One call into a stage.
struct StageCall {
  std::string_view flow;
  std::string_view stage;
  std::uint64_t sequence = 0;  ///< of the packet, or of a source's next packet
  bool compute_thread = false;
  std::chrono::steady_clock::time_point from;
  std::chrono::steady_clock::time_point to;
  CallMemory memory = {};  ///< empty if it is not measured
};

/// Notified of every call of process(), produce() and end() after it has returned, on the calling
/// thread.
class CallListener {
 public:
  virtual ~CallListener() = default;
  virtual void called(const StageCall& call) = 0;
};

/// How much of a flow runs.
enum class Extent : std::uint8_t {
  whole,
  first_batch,  ///< the batching collector makes one batch, which passes through the rest of the
                ///< flow
};

struct FlowOptions {
  RunState run;  ///< services, seed, epoch, flow name; `training` is set by run_flow
  LimitSpec limits;
  std::map<std::string, StageSpec> stage_specs;  ///< on_error, concurrency by stage name
  std::optional<std::int64_t> max_errors;        ///< skipped packets; one more ends the flow
  FlowProgress* progress = nullptr;              ///< optional
  StopState* stop = nullptr;                     ///< optional
  CallListener* calls = nullptr;                 ///< optional
  FlowKeeper* keeper = nullptr;                  ///< optional
  FlowPoint from;                                ///< where a resumed flow continues
  Extent extent = Extent::whole;
  std::optional<Shard> shard;  ///< none: the flow is not split, and may be one that cannot be
};

/// Runs flows: with the graph engine in a real run, with a script in tests of the other parts.
class FlowRunner {
 public:
  virtual ~FlowRunner() = default;
  /// Runs work on the compute thread, on which all tensor work of a run happens, and waits:
  /// opening, saving and closing of tensor stages. Rethrows its exceptions.
  virtual void on_compute_thread(const std::function<void()>& work) = 0;
  /// Never throws because of a stage: its errors are in the result.
  virtual FlowResult run(const FlowSpec& flow,
                         std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                         const FlowOptions& options) = 0;
};

class WorkThread;

class FlowEngine final : public FlowRunner {
 public:
  /// Starts the compute thread, before the first stage is opened. `threads`: TBB workers.
  explicit FlowEngine(int threads);
  ~FlowEngine() override;
  void on_compute_thread(const std::function<void()>& work) override;
  FlowResult run(const FlowSpec& flow, std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                 const FlowOptions& options) override;

 private:
  struct Workers;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<WorkThread> compute_;
  int threads_;
};

}  // namespace seam::host
