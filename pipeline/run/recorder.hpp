/// The line files of a run: metrics.jsonl, timing.jsonl and skipped.jsonl; and its event file for
/// TensorBoard, if enabled.
///
///     a flow ends ──► FlowRecord ──► lines
///     checkpoint ──► sizes ──► resume truncates the files to them
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/flow_record.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/tensorboard_log.hpp"
#include "seam/error.hpp"

namespace seam::host {

class Recorder {
 public:
  /// Bytes of the files that a checkpoint covers.
  struct Sizes {
    std::uint64_t metrics = 0;
    std::uint64_t timing = 0;
    std::uint64_t skipped = 0;
  };

  /// Opens the files and truncates them to these sizes. Throws seam::Error if one is shorter.
  /// `tensorboard` may be null: no event file.
  Recorder(const RunDirectory& directory, const Sizes& sizes,
           std::unique_ptr<TensorBoardLog> tensorboard);

  /// Writes the values that stages recorded when they were opened.
  void opened(Metrics& metrics, const std::vector<std::string>& stages);

  /// Adds a flow's values to the files, even if the flow failed: the last values before an error
  /// are of interest, and a resumed run truncates them. Returns the first error; the other files
  /// are written nevertheless.
  [[nodiscard]] std::optional<Error> flow_ended(const FlowRecord& record, const FlowResult& result,
                                                Metrics& metrics);

  /// Syncs all files to disk; to be called before a checkpoint is written.
  void checkpoint(const Checkpoint& checkpoint);
  [[nodiscard]] Sizes sizes() const;

 private:
  LineFile metrics_;
  LineFile timing_;
  LineFile skipped_;
  std::unique_ptr<TensorBoardLog> tensorboard_;  // null: none
};

/// The epochs that had ended when the last line of a timing.jsonl was written; 0 without the file.
[[nodiscard]] std::int64_t epochs_timed(const std::filesystem::path& timing);

}  // namespace seam::host
