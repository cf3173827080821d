/// The list of runs in a sweep, and the file in the sweep's folder that stores it.
///
///     axes ──► combinations, or a random selection ──► runs with names
///
///     runs/demo-sweep-20260301-093000-1/
///       sweep.json                       the plan
///       pipelines/margin=0.2,seed=1.toml the run's pipeline, resolved and checked
///       output/margin=0.2,seed=1.txt     the output of its process
///       margin=0.2,seed=1/               the run's folder
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/config/axis.hpp"

namespace seam::host {

struct PlannedRun {
  std::string name;  ///< "margin=0.2,seed=1"; of its folder
  std::vector<std::pair<std::string, std::string>>
      settings;  ///< keys and values, as --set takes them

  friend bool operator==(const PlannedRun&, const PlannedRun&) = default;
};

struct RandomSearch {
  std::int64_t count = 0;  ///< combinations to draw
  std::uint64_t seed = 0;
};

/// All combinations, the last axis changing fastest. With `random`, draws that number of different
/// combinations; each is run with all values of the replicates among the axes, such as seeds and
/// folds. Throws seam::Error (configuration) if there are too many, or fewer than to be drawn.
std::vector<PlannedRun> plan_runs(const std::vector<Axis>& axes,
                                  const std::optional<RandomSearch>& random, const Roles& roles);

/// The same with random search. `roles_with` returns the roles in one of the runs; those of all
/// drawn runs count.
std::vector<PlannedRun> draw_runs(const std::vector<Axis>& axes, const RandomSearch& random,
                                  const std::function<Roles(const PlannedRun&)>& roles_with);

/// The variable of SweepPlan::plugin_search_path.
inline constexpr const char* plugin_variable = "SEAM_PLUGIN_PATH";

struct SweepPlan {
  std::string name;               ///< the pipeline's
  std::string file;               ///< the pipeline file, absolute
  std::string started;            ///< date and time, UTC
  std::string working_directory;  ///< base of the runs' relative paths; absolute
  std::vector<std::string> over;  ///< the axes as they were written
  std::optional<std::int64_t> random;
  std::uint64_t random_seed = 0;
  std::vector<std::string> set;           ///< of all runs: --set, and --variant as variant=NAME
  int jobs = 1;                           ///< runs in parallel
  int threads = 1;                        ///< of all of them together
  std::vector<std::string> plugin_paths;  ///< absolute
  std::string plugin_search_path;         ///< plugin_variable
  std::string fingerprint;                ///< of a shard: of all runs of the sweep, for comparison
  std::vector<PlannedRun> runs;

  friend bool operator==(const SweepPlan&, const SweepPlan&) = default;
};

bool is_sweep_folder(const std::filesystem::path& folder);
void write_plan(const std::filesystem::path& folder, const SweepPlan& plan);
/// Throws seam::Error: configuration if the folder is not a sweep, data if its plan is damaged.
SweepPlan read_plan(const std::filesystem::path& folder);

}  // namespace seam::host
