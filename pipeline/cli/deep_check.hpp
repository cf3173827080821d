/// `seam check --deep`: one batch through each flow of the schedule; `seam check --data`: each
/// picture through the stages that prepare it. Both are runs in a folder that goes again.
///
///     CheckedPipeline ──► open stages ──► before, one epoch, after: a batch each ──► exit code
///                                 └─────► data_flows: all packets ───────────────────┘
#pragma once

#include <string>

#include "pipeline/config/load.hpp"
#include "pipeline/run/display.hpp"
#include "pipeline/run/exit_code.hpp"
#include "pipeline/run/stop_signals.hpp"

namespace seam::host {

/// Watches for signals as a run does, so that nothing is left behind when one ends the check.
class DeepCheck final {
 public:
  DeepCheck();

  /// Changes `pipeline`'s schedule. Prints what is wrong, or what it cost; returns the code with
  /// which a run would end.
  ExitCode check(const std::string& file, CheckedPipeline& pipeline, int threads);
  /// The same of every picture that the sources serve: names those that a run could not use.
  ExitCode check_data(const std::string& file, CheckedPipeline& pipeline, int threads);

 private:
  StopState stop_;
  StopSignals signals_;
};

}  // namespace seam::host
