/// `seam check --deep`: one batch through each flow of the schedule; `seam check --data`: each
/// image through the stages that prepare it. Both are runs in a temporary folder.
///
///     CheckedPipeline ──► open stages ──► before, one epoch, after: 1 batch each ──► exit code
///                                 └─────► data_flows: all packets ───────────────────┘
#pragma once

#include <string>

#include "pipeline/config/load.hpp"
#include "pipeline/run/counted_categories.hpp"
#include "pipeline/run/display.hpp"
#include "pipeline/run/exit_code.hpp"
#include "pipeline/run/stop_signals.hpp"

namespace seam::host {

/// Handles signals as a run does, so that the temporary folder is removed if one ends the check.
class DeepCheck final {
 public:
  DeepCheck();

  /// For loading the pipeline that check() runs. A data set that cannot be opened counts none,
  /// because check() reports it.
  [[nodiscard]] CategoryCount count_categories() const;
  /// Changes `pipeline`'s schedule. Prints the errors, or the time and memory needed; returns the
  /// exit code of the run.
  ExitCode check(const std::string& file, CheckedPipeline& pipeline, int threads);
  /// The same for every image that the sources provide: prints those that a run could not use.
  ExitCode check_data(const std::string& file, CheckedPipeline& pipeline, int threads);

 private:
  StopState stop_;
  StopSignals signals_;
};

}  // namespace seam::host
