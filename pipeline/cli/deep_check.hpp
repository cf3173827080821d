/// `seam check --deep`: one batch through each flow of the schedule, in a folder that goes again.
///
///     CheckedPipeline ──► open stages ──► before, one epoch, after: a batch each ──► exit code
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

 private:
  StopState stop_;
  StopSignals signals_;
};

}  // namespace seam::host
