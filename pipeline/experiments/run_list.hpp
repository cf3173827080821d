/// The runs that a folder holds, for `seam runs`, `seam compare` and `seam report`.
///
///     runs/  ── a folder with resolved.toml ──► a run
///            └─ a folder with sweep.json    ──► all runs of its plan, including those not started
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/experiments/metric_values.hpp"
#include "pipeline/experiments/run_folder.hpp"

namespace seam::host {

/// In the order in which they were started, runs of one sweep together. Throws seam::Error
/// (configuration) if the folder does not exist. A run that cannot be read is a failed one whose
/// note says why.
std::vector<RunFolder> find_runs(const std::filesystem::path& folder);
/// The runs of a sweep in the order of its plan; `prefix` is put before their names.
std::vector<RunFolder> runs_of_sweep(const std::filesystem::path& folder,
                                     const std::string& prefix);

/// For each run, the parameters that differ among the runs of its pipeline file.
std::vector<Parameters> changed_parameters(const std::vector<RunFolder>& runs);

/// For each parameter its short name ("margin") if that is unique, otherwise the whole key.
std::vector<std::string> titles_of(const Parameters& parameters);
/// "margin=0.5 rate=0.001", with these names.
std::string settings_text(const Parameters& settings);

/// Whether a value counts as a score of the run. `when` is that of the value. A run that is not
/// complete may not have measured again what it measured before its epochs.
bool counts_as_score(const RunFolder& run, const std::string& when);

/// A score as shown in the list.
struct ShownScore {
  std::string metric;
  MetricValue value;
};
/// The value of `metric`, or, if that is empty, of the run's first headline; nullopt if it was not
/// measured, or, by a run that is not complete, only before its epochs.
std::optional<ShownScore> shown_score(const RunFolder& run, const std::string& metric);

}  // namespace seam::host
