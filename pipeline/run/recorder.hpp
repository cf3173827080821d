/// The line files of a run: metrics.jsonl, timing.jsonl and skipped.jsonl; and its event file for
/// TensorBoard where one is asked for.
///
///     a flow ends ──► FlowRecord ──► lines
///     checkpoint ──► sizes ──► resume cuts the files back to them
#pragma once

#include <cstdint>
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

  /// Opens the files and cuts them back. Throws seam::Error where one is shorter. `tensorboard` may
  /// be null: no event file.
  Recorder(const RunDirectory& directory, const Sizes& sizes,
           std::unique_ptr<TensorBoardLog> tensorboard);

  /// What stages recorded when they were opened.
  void opened(Metrics& metrics, const std::vector<std::string>& stages);

  /// Adds a flow's numbers to the files. Also where the flow failed: the last numbers before a
  /// fault are the interesting ones, and a run that goes on cuts them off. Returns what went wrong
  /// first; the other files are written all the same.
  [[nodiscard]] std::optional<Error> flow_ended(const FlowRecord& record, const FlowResult& result,
                                                Metrics& metrics);

  /// Before a checkpoint is written: all files that belong to it are on the disk then.
  void checkpoint(const Checkpoint& checkpoint);
  [[nodiscard]] Sizes sizes() const;

 private:
  LineFile metrics_;
  LineFile timing_;
  LineFile skipped_;
  std::unique_ptr<TensorBoardLog> tensorboard_;  // null: none
};

}  // namespace seam::host
