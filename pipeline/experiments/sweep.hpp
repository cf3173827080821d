/// A sweep: one run per combination of parameter values, each in a separate process.
///
///     request ──► check_sweep: every combination, as `seam check` does ──► CheckedSweep
///                   └► create_sweep: the folder, with the plan in it
///                        └► execute_sweep ──► child: seam run, up to `jobs` at a time
///                              └ skips complete runs, resumes or starts the others
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/problem.hpp"
#include "pipeline/experiments/child_processes.hpp"
#include "pipeline/experiments/sweep_plan.hpp"
#include "pipeline/graph/shard.hpp"
#include "pipeline/run/exit_code.hpp"

namespace seam::host {

struct SweepRequest {
  std::filesystem::path file;
  std::vector<std::string> variants;   ///< --variant, for every run
  std::vector<std::string> set;        ///< --set, for every run
  std::vector<std::string> over;       ///< axes; empty: those of the file's [sweep]
  std::optional<std::int64_t> random;  ///< this and the next: none: as in [sweep]
  std::optional<std::uint64_t> random_seed;
  Shard shard;  ///< of the combinations
  std::vector<std::string> plugin_paths;
  std::optional<int> threads;  ///< of all runs together
  int jobs = 1;
  std::map<std::string, std::string> environment;
};

struct CheckedSweep {
  SweepPlan plan;
  std::vector<std::string> pipelines;  ///< resolved, in the plan's order; empty if one is invalid
  std::vector<Problem> problems;       ///< without repetitions
  std::vector<std::string> missing_data;
};

/// Checks every combination of the shard, which may be none. Throws seam::Error (configuration) if
/// the axes do not form a sweep.
CheckedSweep check_sweep(const SweepRequest& request);

/// Creates the folder and writes the plan and the pipelines; if `requested` is empty, it is
/// runs/NAME-sweep-DATE-TIME-N. Returns its absolute path.
std::filesystem::path create_sweep(const CheckedSweep& sweep,
                                   const std::filesystem::path& requested);

/// Returns the folder of an earlier process of the same sweep. Throws seam::Error (configuration)
/// if the sweep in it has other runs or pipelines.
std::filesystem::path reopen_sweep(const CheckedSweep& sweep, const std::filesystem::path& folder);

/// Throws seam::Error (configuration) if a shard next to `folder` was planned differently:
/// together, their runs would not be the combinations of one sweep.
void refuse_other_shards(const SweepPlan& plan, const std::filesystem::path& folder);

struct SweepOptions {
  std::optional<int> jobs;  ///< this and the next: none: as in the plan
  std::optional<int> threads;
  std::map<std::string, std::string> environment;
  std::function<void(const std::string&)> say;  ///< prints a line of progress
};

/// Runs all incomplete runs. Returns the code of the first run that failed, or cancelled if the
/// sweep was asked to stop. Throws seam::Error if nothing can be run, such as while another process
/// runs the sweep or one of its runs.
ExitCode execute_sweep(const std::filesystem::path& folder, const SweepOptions& options,
                       ChildProcesses& children);

/// The threads of each of `jobs` parallel runs. Throws seam::Error (configuration) if there are
/// fewer threads than runs.
std::vector<int> shared_out(int threads, int jobs);

}  // namespace seam::host
