/// The event file that one process of a run writes for TensorBoard.
///
///     events.out.tfevents.1772357400.host.71   a b c CHECKPOINT(epoch-2) d e
///     events.out.tfevents.1772358000.host.93   START(step of epoch-2) c' d' e' f ...
///
/// Each file begins with START. A process that resumes begins a new file, as TensorBoard expects:
/// START makes readers forget
/// what earlier files have from that step on. Of that, c belongs to the checkpoint (its step is the
/// checkpoint's own) and is repeated; d and e are what the resumed run does again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/run/files.hpp"

namespace seam::host {

/// Seconds since 1970.
[[nodiscard]] double wall_time_now();

class EventFile {
 public:
  /// Where a process begins.
  struct Resume {
    std::int64_t step = 0;
    std::string checkpoint;  ///< its file's name; empty: none, and nothing of before counts
  };

  /// Makes the next file of the folder. Throws seam::Error where an earlier one cannot be read.
  EventFile(const std::filesystem::path& folder, const Resume& resume);

  /// Adds what these events are, each the bytes of one: all of them or, with an Error, none.
  void append(const std::vector<std::string>& events);
  void sync() { file_.sync(); }

 private:
  EventFile(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& earlier,
            const Resume& resume);

  LineFile file_;
};

}  // namespace seam::host
