// SPDX-License-Identifier: Apache-2.0
/// What a stage may ask of the run it is part of, in the call it is in.
///
///     void process(Packet& packet, Context& context) const override {
///       Random random = context.random(packet);        // the same for any number of threads
///       if (too_small(packet)) return context.drop("smaller than 32 pixels");
///       context.metric("brightness", mean);
///     }
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "seam/export.hpp"
#include "seam/packet.hpp"
#include "seam/random.hpp"

namespace seam {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// What the host does for stages. Implementations must allow calls from many threads.
class SEAM_EXPORT Services {
 public:
  virtual ~Services();
  virtual void log(LogLevel level, std::string_view stage, std::string_view text) = 0;
  virtual void metric(std::string_view stage, std::string_view name, double value) = 0;
  /// A text for people at the end of a flow: a table. Markdown.
  virtual void report(std::string_view stage, std::string_view title, std::string_view text) = 0;
  /// Whether someone asked the run to end; long loops in a stage should look now and then.
  [[nodiscard]] virtual bool stop_requested() const = 0;
};

/// In what the stages on the compute thread compute where a stage does not say otherwise. Losses
/// and other reductions stay in float32.
enum class Precision : std::uint8_t { float32, bfloat16 };

/// What all stages of a run share; one object a flow that runs.
struct RunState {
  Services* services = nullptr;  // the host's, outlives the run
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t epochs = 1;  ///< of the schedule
  bool training = false;
  std::int64_t trainings = 0;  ///< training flows of the run that ended before
  int compute_threads = 1;
  int rank = 0;
  int world = 1;
  std::string device = "cpu";  ///< where tensors are: "cpu", "cuda:0", as LibTorch spells it
  Precision precision = Precision::float32;
  bool deterministic = true;  ///< only operations that give the same bits each time
  std::string flow;
  std::filesystem::path run_directory;  ///< empty where the run leaves none
};

class SEAM_EXPORT Context {
 public:
  Context(const RunState& run, std::string_view stage, std::uint64_t stream)
      : run_(&run), stage_(stage), stream_(stream) {}

  /// From 0.
  [[nodiscard]] std::int64_t epoch() const { return run_->epoch; }
  /// How many epochs the schedule has.
  [[nodiscard]] std::int64_t epochs() const { return run_->epochs; }
  /// Whether the flow reaches an optimizer.
  [[nodiscard]] bool training() const { return run_->training; }
  /// How many training flows of the run ended before this one began: what was computed by a model
  /// at another count may be of other weights.
  [[nodiscard]] std::int64_t trainings() const { return run_->trainings; }
  [[nodiscard]] std::uint64_t seed() const { return run_->seed; }
  /// The stage's name in the pipeline file, and the flow's.
  [[nodiscard]] std::string_view stage() const { return stage_; }
  [[nodiscard]] std::string_view flow() const { return run_->flow; }
  /// Threads that a stage on the compute thread may use for its own loops.
  [[nodiscard]] int compute_threads() const { return run_->compute_threads; }
  /// This process, from 0, among the world() processes that share the run. Only sources look at
  /// them: of the packets that the source would emit alone, numbered from 0, it emits those whose
  /// number modulo world() is rank(), so that each packet comes from exactly one process. What a
  /// packet holds (`index`, the line of its origin) must not depend on either. `seam run` is one
  /// process: 0 of 1.
  [[nodiscard]] int rank() const { return run_->rank; }
  [[nodiscard]] int world() const { return run_->world; }
  /// Where tensors are computed, as LibTorch spells it: "cpu", "cuda:0". device_of() in tensor.hpp
  /// makes a torch::Device of it.
  [[nodiscard]] const std::string& device() const { return run_->device; }
  [[nodiscard]] Precision precision() const { return run_->precision; }
  /// Whether only operations are wanted that give the same bits each time.
  [[nodiscard]] bool deterministic() const { return run_->deterministic; }
  /// Where a stage may leave files; empty where the run keeps none.
  [[nodiscard]] const std::filesystem::path& run_directory() const { return run_->run_directory; }
  [[nodiscard]] bool stop_requested() const { return run_->services->stop_requested(); }

  /// Random numbers that belong to (run seed, stage, epoch, packet).
  [[nodiscard]] Random random(const Packet& packet) const { return random(packet.sequence()); }
  [[nodiscard]] Random random(std::uint64_t sequence) const {
    return {run_->seed, stream_, static_cast<std::uint64_t>(run_->epoch), sequence};
  }
  /// Random numbers that belong to (run seed, stage) alone, such as for initial weights.
  [[nodiscard]] Random random_of_run() const { return {run_->seed, ~stream_}; }

  /// The packet in hand goes no further, for this reason; counted and listed by the host.
  void drop(std::string reason) {
    dropped_ = true;
    reason_ = std::move(reason);
  }
  [[nodiscard]] bool dropped() const { return dropped_; }
  [[nodiscard]] const std::string& drop_reason() const { return reason_; }

  /// In a collector's pause(), with Pause::ready: it holds packets, of which the one with this
  /// sequence number is the oldest; they come again where the flow goes on.
  void holds_from(std::uint64_t sequence) { held_from_ = sequence; }
  [[nodiscard]] std::optional<std::uint64_t> held_from() const { return held_from_; }

  void metric(std::string_view name, double value) const {
    run_->services->metric(stage_, name, value);
  }
  void report(std::string_view title, std::string_view text) const {
    run_->services->report(stage_, title, text);
  }
  void debug(std::string_view text) const { log(LogLevel::debug, text); }
  void info(std::string_view text) const { log(LogLevel::info, text); }
  void warn(std::string_view text) const { log(LogLevel::warning, text); }
  void log(LogLevel level, std::string_view text) const {
    run_->services->log(level, stage_, text);
  }

 private:
  const RunState* run_;  // the runner's, outlives the call
  std::string_view stage_;
  std::uint64_t stream_;
  bool dropped_ = false;
  std::string reason_;
  std::optional<std::uint64_t> held_from_;
};

}  // namespace seam
