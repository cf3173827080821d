/// Data about a flow that ended, for the files of a run, in addition to its stages' metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace seam::host {

/// A flow that ended, successfully or not.
struct FlowRecord {
  std::string flow;
  std::int64_t epoch = 0;
  std::string when;                    ///< moment_text()
  std::vector<std::string> stages;     ///< in flow order
  std::vector<std::string> unordered;  ///< those that run on several threads
  std::chrono::system_clock::time_point began;
  std::uint64_t finished = 0;       ///< finished packets of the sources
  std::int64_t steps_before = 0;    ///< training steps of the run before the flow
  std::int64_t training_steps = 0;  ///< of the flow, including those of earlier processes
};

}  // namespace seam::host
