/// What the files of a run say of a flow that ended, besides what its stages recorded.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace seam::host {

/// A flow that ended, well or not.
struct FlowRecord {
  std::string flow;
  std::int64_t epoch = 0;
  std::string when;                    ///< moment_text()
  std::vector<std::string> stages;     ///< in flow order
  std::vector<std::string> unordered;  ///< those that many threads run
  std::chrono::system_clock::time_point began;
  std::uint64_t finished = 0;       ///< packets of the sources that are through
  std::int64_t steps_before = 0;    ///< training steps of the run before the flow
  std::int64_t training_steps = 0;  ///< of the flow, those of earlier processes included
};

}  // namespace seam::host
