/// The line files of a run: metrics.jsonl, timing.jsonl and skipped.jsonl.
///
///     a flow ends ──► FlowRecord ──► lines
///     checkpoint ──► sizes ──► resume cuts the files back to them
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/graph/flow.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/run/run_directory.hpp"
#include "seam/error.hpp"

namespace seam::host {

/// A flow that ended, well or not.
struct FlowRecord {
  std::string flow;
  std::int64_t epoch = 0;
  std::string when;                    ///< moment_text()
  std::vector<std::string> stages;     ///< in flow order
  std::vector<std::string> unordered;  ///< those that many threads run
  std::chrono::system_clock::time_point began;
  std::uint64_t finished = 0;  ///< packets of the sources that are through
};

class Recorder {
 public:
  /// Bytes of the files that a checkpoint covers.
  struct Sizes {
    std::uint64_t metrics = 0;
    std::uint64_t timing = 0;
    std::uint64_t skipped = 0;
  };

  /// Opens the files and cuts them back. Throws seam::Error where one is shorter.
  Recorder(const RunDirectory& directory, const Sizes& sizes);

  /// What stages recorded when they were opened.
  void opened(Metrics& metrics, const std::vector<std::string>& stages);

  /// Adds a flow's numbers to the files. Also where the flow failed: the last numbers before a
  /// fault are the interesting ones, and a run that goes on cuts them off. Returns what went wrong
  /// first; the other files are written all the same.
  [[nodiscard]] std::optional<Error> flow_ended(const FlowRecord& record, const FlowResult& result,
                                                Metrics& metrics);

  [[nodiscard]] Sizes sizes() const;
  /// Waits until the files are on the disk.
  Sizes sync();

 private:
  LineFile metrics_;
  LineFile timing_;
  LineFile skipped_;
};

}  // namespace seam::host
