/// All that a run needs to go on as if it had never ended: every stage's saved state and the
/// schedule's position, in one file.
///
///     "SEAMCKPT"  version  byte order  file size
///     sections:   name, type, entries: name, type, shape, bytes
///     CRC-64 of all before
///
/// The first section is the run's own (position, sizes of the line files, hashes); the others are
/// stages. Numbers are in this machine's byte order; a machine with the other one refuses the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/run/schedule.hpp"
#include "seam/archive.hpp"

namespace seam::host {

struct StageState {
  std::string name;  ///< in the pipeline
  std::string use;   ///< what the stage is
  Archive archive;

  friend bool operator==(const StageState&, const StageState&) = default;
};

struct Checkpoint {
  SchedulePosition position;
  std::uint64_t metrics_size = 0;  ///< bytes of metrics.jsonl that belong to it, and so on
  std::uint64_t timing_size = 0;
  std::uint64_t skipped_size = 0;
  std::uint64_t skipped_packets = 0;
  std::int64_t trainings = 0;           ///< training flows that have ended
  std::map<std::string, double> means;  ///< the newest of each metric, by "stage.metric"
  std::string pipeline_hash;            ///< SHA-256 of the pipeline's resolved text
  std::string plugins;                  ///< lines "hash path"
  std::vector<StageState> stages;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Writes the file whole or not at all. Throws seam::Error.
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);
/// Throws seam::Error that says in what way the file is damaged.
Checkpoint read_checkpoint(const std::filesystem::path& file);
/// The same from memory; `file` is what messages call it.
Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const std::filesystem::path& file);

/// `checkpoints/epoch-12.seam` of a run: written, listed and thinned out.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes the checkpoint and removes what is no longer kept: all but the last two and the best.
  std::filesystem::path write(const Checkpoint& checkpoint) const;
  /// Newest first.
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

  struct Newest {
    std::optional<Checkpoint> checkpoint;  ///< none: there are no files
    std::filesystem::path file;
    std::vector<std::string> damaged;  ///< a sentence on each newer file that was passed over
  };
  /// The newest that is whole. Throws seam::Error where there are files and none is.
  [[nodiscard]] Newest newest() const;
  /// Removes the files newer than this one: what they hold will be made again.
  void remove_newer_than(const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace seam::host
