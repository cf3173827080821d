// SPDX-License-Identifier: Apache-2.0
/// The services of the run that a stage can use during a call.
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

/// Metrics that the host shows in a special way, whichever stage records them.
namespace metric_name {

/// The number in progress lines.
inline constexpr std::string_view loss = "loss";
/// Begins the names of recall at K, such as that at 5, which reports draw over K.
inline constexpr std::string_view recall_at = "r@";

}  // namespace metric_name

class Ranks;  // <seam/ranks.hpp>

enum class LogLevel : std::uint8_t { debug, info, warning, error };

/// The host's services for stages. Implementations must allow calls from many threads.
class SEAM_EXPORT Services {
 public:
  virtual ~Services();
  virtual void log(LogLevel level, std::string_view stage, std::string_view text) = 0;
  virtual void metric(std::string_view stage, std::string_view name, double value) = 0;
  /// Markdown for users at the end of a flow, such as a table.
  virtual void report(std::string_view stage, std::string_view title, std::string_view text) = 0;
  /// Returns whether the run should stop; long loops in a stage should check it now and then.
  [[nodiscard]] virtual bool stop_requested() const = 0;
};

/// Precision of the stages on the compute thread, unless a stage sets its own. Losses and other
/// reductions stay in float32.
enum class Precision : std::uint8_t { float32, bfloat16 };

/// The results of a lane that a network keeps until the gradient is known.
enum class LaneMemory : std::uint8_t {
  keep,       ///< all that its backward pass needs
  recompute,  ///< nothing: the backward pass computes the lane again
};

/// In training, networks (seam::ModuleStage) compute the rows of a batch in `count` lanes, one
/// after the other; all other stages see the whole batch.
struct Lanes {
  std::int64_t count = 1;
  LaneMemory memory = LaneMemory::keep;  ///< results do not depend on it
  /// The processes that share out the lanes, which results do not depend on either; null: this one
  /// computes all. Outlives the run.
  Ranks* ranks = nullptr;

  friend bool operator==(const Lanes&, const Lanes&) = default;
};

/// State shared by all stages of a run; one object per running flow.
struct RunState {
  Services* services = nullptr;  // the host's, outlives the run
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t epochs = 1;  ///< of the schedule
  bool training = false;
  std::int64_t trainings = 0;  ///< number of training flows that ended before
  int compute_threads = 1;
  std::string device = "cpu";  ///< device of the tensors in LibTorch's notation: "cpu", "cuda:0"
  Precision precision = Precision::float32;
  bool deterministic = true;  ///< only deterministic operations
  std::string flow;
  std::filesystem::path run_directory;  ///< empty if the run has no folder
  Lanes lanes;
};

class SEAM_EXPORT Context {
 public:
  Context(const RunState& run, std::string_view stage, std::uint64_t stream)
      : run_(&run), stage_(stage), stream_(stream) {}

  /// From 0.
  [[nodiscard]] std::int64_t epoch() const { return run_->epoch; }
  /// Number of epochs in the schedule.
  [[nodiscard]] std::int64_t epochs() const { return run_->epochs; }
  /// Whether the flow reaches an optimizer.
  [[nodiscard]] bool training() const { return run_->training; }
  /// Number of training flows of the run that ended before this flow began. Results of a model with
  /// a different number may come from different weights.
  [[nodiscard]] std::int64_t trainings() const { return run_->trainings; }
  [[nodiscard]] std::uint64_t seed() const { return run_->seed; }
  /// The stage's name in the pipeline file, and the flow's.
  [[nodiscard]] std::string_view stage() const { return stage_; }
  [[nodiscard]] std::string_view flow() const { return run_->flow; }
  /// Threads that a stage on the compute thread may use for its own loops.
  [[nodiscard]] int compute_threads() const { return run_->compute_threads; }
  /// The device of tensors in LibTorch's notation: "cpu", "cuda:0". device_of() in tensor.hpp
  /// converts it to a torch::Device.
  [[nodiscard]] const std::string& device() const { return run_->device; }
  [[nodiscard]] Precision precision() const { return run_->precision; }
  [[nodiscard]] const Lanes& lanes() const { return run_->lanes; }
  /// Whether only deterministic operations may be used.
  [[nodiscard]] bool deterministic() const { return run_->deterministic; }
  /// Folder where a stage may write files; empty if the run has no folder.
  [[nodiscard]] const std::filesystem::path& run_directory() const { return run_->run_directory; }
  [[nodiscard]] bool stop_requested() const { return run_->services->stop_requested(); }

  /// Random numbers that belong to (run seed, stage, epoch, packet).
  [[nodiscard]] Random random(const Packet& packet) const { return random(packet.sequence()); }
  [[nodiscard]] Random random(std::uint64_t sequence) const {
    return {run_->seed, stream_, static_cast<std::uint64_t>(run_->epoch), sequence};
  }
  /// Random numbers that belong to (run seed, stage) only, such as for initial weights.
  [[nodiscard]] Random random_of_run() const { return {run_->seed, ~stream_}; }

  /// Drops the current packet for the given reason; the host counts and lists it.
  void drop(std::string reason) {
    dropped_ = true;
    reason_ = std::move(reason);
  }
  [[nodiscard]] bool dropped() const { return dropped_; }
  [[nodiscard]] const std::string& drop_reason() const { return reason_; }

  /// The same for a lane of a packet: metric() and report() throw, because they would be called
  /// several times for the packet.
  [[nodiscard]] Context in_lane() const {
    Context lane = *this;
    lane.in_lane_ = true;
    return lane;
  }

  /// In a collector's pause(), with Pause::ready: it holds packets, and the oldest has this
  /// sequence number; they are sent again when the flow is resumed.
  void holds_from(std::uint64_t sequence) { held_from_ = sequence; }
  [[nodiscard]] std::optional<std::uint64_t> held_from() const { return held_from_; }

  void metric(std::string_view name, double value) const {
    if (in_lane_) refuse_in_lane(name);
    run_->services->metric(stage_, name, value);
  }
  void report(std::string_view title, std::string_view text) const {
    if (in_lane_) refuse_in_lane(title);
    run_->services->report(stage_, title, text);
  }
  void debug(std::string_view text) const { log(LogLevel::debug, text); }
  void info(std::string_view text) const { log(LogLevel::info, text); }
  void warn(std::string_view text) const { log(LogLevel::warning, text); }
  void log(LogLevel level, std::string_view text) const {
    run_->services->log(level, stage_, text);
  }

 private:
  [[noreturn]] void refuse_in_lane(std::string_view name) const;

  const RunState* run_;  // the runner's, outlives the call
  std::string_view stage_;
  std::uint64_t stream_;
  bool dropped_ = false;
  bool in_lane_ = false;
  std::string reason_;
  std::optional<std::uint64_t> held_from_;
};

}  // namespace seam
