/// A sweep: a run for each combination of some parameters' values, each in a process of its own.
///
///     request ──► check_sweep: every combination, as `seam check` does ──► CheckedSweep
///                   └► create_sweep: the folder, with the plan in it
///                        └► execute_sweep ──► child: seam run, up to `jobs` at a time
///                              └ a run that is complete is left, others go on or begin
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
#include "pipeline/run/exit_code.hpp"

namespace seam::host {

struct SweepRequest {
  std::filesystem::path file;
  std::vector<std::string> variants;   ///< --variant, for every run
  std::vector<std::string> set;        ///< --set, for every run
  std::vector<std::string> over;       ///< axes; empty: what the file's [sweep] says
  std::optional<std::int64_t> random;  ///< this and the next: none: what [sweep] says
  std::optional<std::uint64_t> random_seed;
  std::vector<std::string> plugin_paths;
  std::optional<int> threads;  ///< of all runs together
  int jobs = 1;
  std::map<std::string, std::string> environment;
};

struct CheckedSweep {
  SweepPlan plan;
  std::vector<std::string> pipelines;  ///< resolved, in the plan's order; empty where one is wrong
  std::vector<Problem> problems;       ///< each once, though many runs may have it
  std::vector<std::string> missing_data;
};

/// Checks every combination. Throws seam::Error (configuration) where the axes make no sweep.
CheckedSweep check_sweep(const SweepRequest& request);

/// Makes the folder and writes the plan and the pipelines; `requested` may be empty:
/// runs/NAME-sweep-DATE-TIME-N is made then. Its absolute path.
std::filesystem::path create_sweep(const CheckedSweep& sweep,
                                   const std::filesystem::path& requested);

struct SweepOptions {
  std::optional<int> jobs;  ///< this and the next: none: what the plan says
  std::optional<int> threads;
  std::map<std::string, std::string> environment;
  std::function<void(const std::string&)> say;  ///< a line for whoever watches
};

/// Runs what is not complete. The code of the first run that failed; cancelled where the sweep was
/// asked to stop. Throws seam::Error where nothing can be run, such as while another process works
/// on the sweep or on one of its runs.
ExitCode execute_sweep(const std::filesystem::path& folder, const SweepOptions& options,
                       ChildProcesses& children);

/// The threads of each of `jobs` runs at a time. Throws seam::Error (configuration) where there are
/// fewer threads than runs.
std::vector<int> shared_out(int threads, int jobs);

}  // namespace seam::host
