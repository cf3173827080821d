/// Runs that leave no folder, for verbs that try a pipeline out.
#pragma once

#include <filesystem>

#include "pipeline/run/run.hpp"
#include "pipeline/run/stop_signals.hpp"

namespace seam::host {

/// A temporary folder for the run; the destructor removes it.
class ScratchFolder final {
 public:
  /// Throws seam::Error (data) if it cannot be created.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder& operator=(ScratchFolder&&) = delete;  // not copyable

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Ends trials on signals, silently.
struct TrialStop {
  StopState state;
  StopSignals signals{state, std::nullopt, static_cast<int>(ExitCode::cancelled),
                      [](StopNotice /*notice*/) {}, [] {}};
};

/// Options of a run in the folder, with the numerics of the pipeline, which the process then obeys.
/// `stop` outlives the run.
[[nodiscard]] RunOptions trial_options(const CheckedPipeline& pipeline, const ScratchFolder& folder,
                                       int threads, StopState& stop);

/// Throws seam::Error (configuration) if a stage may write outside of the folder; `what` does not
/// run it, such as "--deep".
void refuse_writing_elsewhere(const CheckedPipeline& pipeline, const std::string& what);

}  // namespace seam::host
