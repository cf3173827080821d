/// All that a run needs to go on as if it had never ended: every stage's saved state and the
/// schedule's position, in one file.
///
///     keys       stage/entry, as the stage names its entries
///                seam.flow/entry, of a flow that is under way
///     metadata   seam.checkpoint  the format's number, 5
///                seam.stages      [["model","model.sccapsnet"], ...]
///                seam.run.*       position in the schedule, sizes of the line files, the pipeline
///                seam.mean.*      the newest mean of each metric
///                seam.classes     {"model": ["coat", "hat"]}, what networks' classes are called
///                seam.best        the file of the best epoch, by `keep` or else by `stop_early`
///                seam.best_by     the metric of that rule, and on which pictures it is measured
///                seam.chosen      imported weights that a metric chose, with that metric
///
/// It is a safetensors file (<seam/safetensors.hpp>), which Python reads without Seam: weights are
/// under their names, and text, which the format lacks, is stored as U8. Texts of the run are
/// percent-encoded where they are not ASCII.
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
#include "pipeline/run/checkpoint_name.hpp"
#include "pipeline/run/class_names.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/selection.hpp"
#include "seam/archive.hpp"

namespace seam::host {

struct StageState {
  std::string name;  ///< in the pipeline
  std::string use;   ///< what the stage is
  Archive archive;

  friend bool operator==(const StageState&, const StageState&) = default;
};

/// A flow that was left between two of its steps.
struct FlowUnderWay {
  std::string flow;
  FlowPoint point;
  Metrics::Recorded recorded;  ///< of the stages that go on with their state

  friend bool operator==(const FlowUnderWay&, const FlowUnderWay&) = default;
};

struct Checkpoint {
  SchedulePosition position;
  std::optional<FlowUnderWay> flow;  ///< the one due at `position`
  std::uint64_t metrics_size = 0;    ///< bytes of metrics.jsonl that belong to it, and so on
  std::uint64_t timing_size = 0;
  std::uint64_t skipped_size = 0;
  std::uint64_t skipped_packets = 0;
  std::int64_t trainings = 0;                  ///< training flows that have ended
  std::optional<std::int64_t> training_steps;  ///< of these; none: an earlier version wrote it
  std::map<std::string, double> means;         ///< the newest of each metric, by "stage.metric"
  std::vector<std::string> epoch_means;        ///< those of them that the epoch under way measured
  std::optional<std::string> pipeline;  ///< its resolved text; none: an earlier version wrote it
  std::string plugins;                  ///< lines "hash path"
  std::string numerics;  ///< "cpu in float32": where and in what it was computed; may be empty
  ClassNames classes;    ///< of the networks among the stages; none: an earlier version wrote it
  std::optional<Choice> best_by;  ///< what chooses the best epoch; none: nothing does
  /// What the run's weights began with, where that was chosen; none: an earlier version wrote it.
  std::optional<std::vector<ChosenWeights>> chosen;
  std::vector<StageState> stages;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Writes the file whole or not at all. Throws seam::Error.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
/// Throws seam::Error that says in what way the file is damaged: sizes, checksum, names that come
/// twice, entries whose bytes are not those of their type and shape.
Checkpoint read_checkpoint(const std::filesystem::path& file);
/// The same from memory; `file` is what messages call it.
Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const std::filesystem::path& file);

/// What the checkpoint is called.
[[nodiscard]] CheckpointName name_of(const Checkpoint& checkpoint);

/// `checkpoints/epoch-12.safetensors` of a run: written, listed and thinned out.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes the checkpoint, then removes what is no longer kept: of those after whole epochs all
  /// but the newest `last` and the best, of those within an epoch all but the last two since.
  std::filesystem::path write(const Checkpoint& checkpoint, std::int64_t last = 2) const;
  /// Newest first. Throws seam::Error where the folder is there but cannot be looked through.
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

  struct DamagedFile {
    std::filesystem::path file;
    std::string how;  ///< a sentence
  };
  struct Newest {
    std::optional<Checkpoint> checkpoint;  ///< none: there are no files
    std::filesystem::path file;
    std::vector<DamagedFile> damaged;  ///< the newer files, which were passed over
  };
  /// The newest that is whole, of those that are `wanted` or else of all. Throws seam::Error where
  /// there are files and none is, where one cannot be read: it may be whole (permissions, a disk's
  /// fault), and is not passed over; and where there are none but those of earlier versions
  /// ("epoch-12.seam").
  [[nodiscard]] Newest newest(
      const std::function<bool(const CheckpointName&)>& wanted = nullptr) const;
  /// Renames a damaged file, so that the run that goes on does not replace it; the new name.
  static std::filesystem::path set_aside(const std::filesystem::path& file);

 private:
  std::filesystem::path folder_;
};

}  // namespace seam::host
