/// Runs a checked pipeline from its first flow to its last: everything that `seam run` does.
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
#include "pipeline/run/flow_runner.hpp"
#include "pipeline/run/numerics.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/summary.hpp"

namespace seam::host {

enum class Start : std::uint8_t {
  fresh,   ///< in a new run directory
  resume,  ///< from the newest checkpoint of the run directory
  from,    ///< in a new run directory, with a checkpoint of another run
};

struct RunOptions {
  std::filesystem::path run_directory;  ///< empty for a fresh run: runs/NAME-DATE-TIME-N
  Start start = Start::fresh;
  int threads = 1;
  Numerics numerics;
  StopState* stop = nullptr;  ///< optional; the caller's, outlives the run
  Timing timing = Timing::brief;
  /// Of each flow: with its first batch only, the run writes no checkpoints.
  Extent extent = Extent::whole;
  std::filesystem::path trace;  ///< a file for every stage's times; empty: none
  /// With Start::from: the other run's folder and its pipeline, the caller's, outlives the run.
  std::filesystem::path from;
  const PipelineSpec* before = nullptr;
  /// With Start::fresh: of Launch.
  RunOrigin evaluates;
  std::map<std::string, std::string> trained_with;
  /// The clock for `checkpoint_every` in minutes and for the end that the progress line predicts;
  /// tests replace it.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// Never throws for what a user, a stage or a disk does: that is in the summary. Stages are closed
/// when it returns.
RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display);
/// The same with another engine under it.
RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display,
                        FlowRunner& flows);

/// Loading for a run: the thread budget is fixed, and told to all libraries, before the first
/// plugin is loaded. `command_line` is --threads. Changes this process's environment variables.
struct PreparedRun {
  int threads = 1;
  LoadResult loaded;
};
PreparedRun prepare_run(LoadOptions options, std::optional<int> command_line);

/// How to load the pipeline of an earlier run, to resume it or to begin with it: its resolved.toml,
/// with the very plugins that it used where `plugin_paths` offers no others; the search path is
/// asked for what is not there any more. Throws seam::Error (configuration) where the folder is no
/// run.
LoadOptions earlier_run_options(const std::filesystem::path& run_directory,
                                std::vector<std::string> plugin_paths);

}  // namespace seam::host
