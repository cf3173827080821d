/// The event file that one process of a run writes for TensorBoard.
///
///     events.out.tfevents.1772357400.host.71   a b c CHECKPOINT(epoch-2) d e
///     events.out.tfevents.1772358000.host.93   START(step of epoch-2) c' d' e' f ...
///
/// Each file begins with START. A process that resumes a run starts a new file, as TensorBoard
/// expects: START makes readers discard the events of earlier files from that step on. Of these, c
/// belongs to the checkpoint (it has the checkpoint's step) and is written again; d and e are
/// repeated by the resumed run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/run/files.hpp"

namespace seam::host {

/// Seconds since 1970.
[[nodiscard]] double wall_time_now();

class EventFile {
 public:
  /// The point at which a process starts.
  struct Resume {
    std::int64_t step = 0;
    std::string checkpoint;  ///< file name; empty: none, and earlier events are discarded
  };

  /// Creates the next file in the folder. Throws seam::Error if an earlier one cannot be read.
  EventFile(const std::filesystem::path& folder, const Resume& resume);

  /// Appends these encoded events: all of them or, with an Error, none.
  void append(const std::vector<std::string>& events);
  void sync() { file_.sync(); }

 private:
  EventFile(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& earlier,
            const Resume& resume);

  LineFile file_;
};

}  // namespace seam::host
