/// Runs that leave no folder, for verbs that try a pipeline out.
#pragma once

#include <filesystem>

#include "pipeline/run/run.hpp"

namespace seam::host {

/// A temporary folder for the run; the destructor removes it.
class ScratchFolder final {
 public:
  /// Throws seam::Error (data) if it cannot be created.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ScratchFolder(ScratchFolder&&) = delete;
  ScratchFolder& operator=(ScratchFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Options of a run in the folder, with the numerics of the pipeline, which the process then obeys.
/// `stop` outlives the run.
[[nodiscard]] RunOptions trial_options(const CheckedPipeline& pipeline, const ScratchFolder& folder,
                                       int threads, StopState& stop);

/// Throws seam::Error (configuration) if a stage may write outside of the folder; `what` does not
/// run it, such as "--deep".
void refuse_writing_elsewhere(const CheckedPipeline& pipeline, const std::string& what);

}  // namespace seam::host
