/// Checkpoints: the saved state of every stage and the position in the schedule, in one file, so
/// that a run can resume as if it had never stopped.
///
///     keys       stage/entry, as the stage names its entries
///                seam.flow/entry, for a flow in progress
///     metadata   seam.checkpoint  the format's number, 5
///                seam.stages      [["model","model.sccapsnet"], ...]
///                seam.run.*       position in the schedule, sizes of the line files, the pipeline,
///                                 digests of what data sets list
///                seam.mean.*      the newest mean of each metric
///                seam.classes     {"model": ["coat", "hat"]}, the class names of networks
///                seam.best        the file of the best epoch, by `keep` or else by `stop_early`
///                seam.best_by     the metric of that rule, and the images on which it is measured
///                seam.chosen      imported weights that were selected by a metric, with that
///                metric
///
/// It is a safetensors file (<seam/safetensors.hpp>), which Python reads without Seam: weights have
/// their names as keys, and strings, which the format lacks, are stored as U8. Non-ASCII strings of
/// the run are percent-encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/class_names.hpp"
#include "pipeline/run/listings.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/selection.hpp"
#include "sdk/src/checkpoint_format.hpp"
#include "seam/archive.hpp"

namespace seam::host {

struct StageState {
  std::string name;  ///< in the pipeline
  std::string use;   ///< the stage's type
  Archive archive;

  friend bool operator==(const StageState&, const StageState&) = default;
};

/// A flow that was interrupted between two of its steps.
struct FlowUnderWay {
  std::string flow;
  FlowPoint point;
  Metrics::Recorded recorded;  ///< by the stages that continue with their state

  friend bool operator==(const FlowUnderWay&, const FlowUnderWay&) = default;
};

struct Checkpoint {
  SchedulePosition position;
  std::optional<FlowUnderWay> flow;  ///< the one due at `position`
  std::uint64_t metrics_size = 0;    ///< bytes of metrics.jsonl that belong to it
  std::uint64_t timing_size = 0;
  std::uint64_t skipped_size = 0;
  std::uint64_t skipped_packets = 0;
  std::int64_t trainings = 0;            ///< training flows that have ended
  std::int64_t training_steps = 0;       ///< of these
  std::map<std::string, double> means;   ///< the newest of each metric, by "stage.metric"
  std::vector<std::string> epoch_means;  ///< those measured in the current epoch
  std::optional<std::string> pipeline;   ///< resolved text; none: written by an earlier version
  std::string plugins;                   ///< lines "hash path"
  std::string numerics;  ///< device and precision, such as "cpu in float32"; may be empty
  ClassNames classes;    ///< of the networks; empty: none, or written by an earlier version
  Listings listings;     ///< of the data sets; empty: none, or as above
  std::optional<Choice> best_by;  ///< how the best epoch is selected; none: not at all
  /// Initial weights that were selected by a metric; none: written by an earlier version.
  std::optional<std::vector<ChosenWeights>> chosen;
  std::vector<StageState> stages;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Writes the file completely or not at all. Throws seam::Error.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
/// Throws seam::Error that says how the file is damaged: sizes, checksum, duplicate names, entries
/// whose size does not match their type and shape.
Checkpoint read_checkpoint(const std::filesystem::path& file);
/// The same from memory; `file` is the name for messages.
Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const std::filesystem::path& file);

[[nodiscard]] CheckpointName name_of(const Checkpoint& checkpoint);

/// Writes, lists and removes the checkpoints of a run, such as `checkpoints/epoch-12.safetensors`.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes the checkpoint, then removes old ones: of those between epochs all but the newest
  /// `last` and the best, of those within an epoch all but the last two of the current epoch.
  std::filesystem::path write(const Checkpoint& checkpoint, std::int64_t last = 2) const;
  /// Newest first. Throws seam::Error if the folder exists but cannot be listed.
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

  struct DamagedFile {
    std::filesystem::path file;
    std::string how;  ///< a sentence
  };
  struct Newest {
    std::optional<Checkpoint> checkpoint;  ///< none: there are no files
    std::filesystem::path file;
    std::vector<DamagedFile> damaged;  ///< the newer files, which were skipped
  };
  /// Returns the newest intact one of those that are `wanted`, or of all. Throws seam::Error if all
  /// are damaged, or if one cannot be read: it may be intact (permissions, a disk error), so it is
  /// not skipped.
  [[nodiscard]] Newest newest(
      const std::function<bool(const CheckpointName&)>& wanted = nullptr) const;
  /// Renames a damaged file, so that the resumed run does not replace it. Returns the new name.
  static std::filesystem::path set_aside(const std::filesystem::path& file);

 private:
  std::filesystem::path folder_;
};

/// For a run that continues, whose rule may have changed and whose checkpoints may have been
/// removed: the best epoch by the means in the first `size` bytes of `metrics`, among those whose
/// files exist in the folder `checkpoints`. If there is none, returns `before`, as recorded in the
/// checkpoint, provided that it has the same metric and its file exists. Returns nullopt if the
/// rule has no metric, or if no existing epoch has measured it. Throws seam::Error (data) if the
/// file is not a valid metrics file.
std::optional<BestKept> best_kept(const KeepRule& rule, std::optional<BestKept> before,
                                  const std::filesystem::path& checkpoints,
                                  const std::filesystem::path& metrics, std::uint64_t size);

}  // namespace seam::host
