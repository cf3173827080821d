/// Runs a checked pipeline from its first flow to its last: the implementation of `seam run`.
///
///     CheckedPipeline ──► open stages ──► restore ──► schedule ──► close stages ──► RunSummary
///                             │              │           │
///                         run directory   checkpoint   flows, metrics, checkpoints
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/load.hpp"
#include "pipeline/run/display.hpp"
#include "pipeline/run/numerics.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/summary.hpp"
#include "seam/ranks.hpp"

namespace seam::host {

enum class Start : std::uint8_t {
  fresh,   ///< in a new run folder
  resume,  ///< from the newest checkpoint in the run folder
  from,    ///< in a new run folder, from a checkpoint of another run
};

struct RunOptions {
  std::filesystem::path run_directory;  ///< empty for a fresh run: runs/NAME-DATE-TIME-N
  Start start = Start::fresh;
  int threads = 1;
  Numerics numerics;
  StopState* stop = nullptr;  ///< optional; outlives the run
  /// The processes that compute the run, which are asked to stop instead of `stop`; null: only this
  /// one. Outlives the run.
  Ranks* ranks = nullptr;
  Timing timing = Timing::brief;
  /// Extent of each flow; a run of first batches writes no checkpoints.
  Extent extent = Extent::whole;
  std::optional<Shard> shard;  ///< none: the whole run; a shard writes no checkpoints
  /// Variables of the process: TRACEPARENT, and those by which Slurm limits the memory.
  std::map<std::string, std::string> environment;
  std::filesystem::path trace;  ///< file for a timeline of all stages; empty: none
  /// With Start::from: the other run's folder and its pipeline, which outlives the run.
  std::filesystem::path from;
  const PipelineSpec* before = nullptr;
  /// With Start::fresh: fields of Launch.
  RunOrigin evaluates;
  std::map<std::string, std::string> trained_with;
  std::map<std::string, std::string> evaluated_with;
  /// The clock for `checkpoint_every` in minutes and for the remaining time in the progress line;
  /// tests replace it.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;

  /// Whether flows have points from which they can be resumed.
  [[nodiscard]] bool has_points() const { return extent == Extent::whole && !shard; }
  [[nodiscard]] bool writes_checkpoints() const {
    return has_points() && (ranks == nullptr || ranks->rank() == 0);
  }
};

/// Never throws because of a user, a stage or a disk: these errors are in the summary. Stages are
/// closed when it returns.
RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display);
/// The same with a different engine.
RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display,
                        FlowRunner& flows);

/// Loads a pipeline for a run: the thread budget is determined and set for all libraries before the
/// first plugin is loaded. `command_line`: --threads. Changes this process's environment variables.
struct PreparedRun {
  int threads = 1;
  LoadResult loaded;
};
PreparedRun prepare_run(LoadOptions options, std::optional<int> command_line);

/// Returns how to load the pipeline of an earlier run, to resume it or to start from it: its
/// resolved.toml, with the plugins that it used unless `plugin_paths` provides others. Plugins that
/// no longer exist are looked up on the search path. Throws seam::Error (configuration) if the
/// folder is not a run folder.
LoadOptions earlier_run_options(const std::filesystem::path& run_directory,
                                std::vector<std::string> plugin_paths);

}  // namespace seam::host
