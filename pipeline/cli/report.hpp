/// How the program speaks of errors: one way for all verbs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/load.hpp"
#include "pipeline/config/problem.hpp"
#include "pipeline/run/exit_code.hpp"
#include "seam/error.hpp"

namespace seam::host {

/// Prints the message and its chain; the exit code that fits its fault.
ExitCode report_error(const Error& error);

/// Prints all problems of a pipeline file as a compiler does.
void report_problems(const std::vector<Problem>& problems);

/// Ends a verb that needs the data of the stages: "`doing`, because data is missing" and what.
Error missing_data_error(const std::string& doing, const std::vector<std::string>& missing);

/// Loads a pipeline for a verb that does not run it; problems are printed. None: there were errors.
std::optional<CheckedPipeline> load_or_report(LoadOptions options);

/// How to load `file`, a pipeline file or the folder of a run. Throws seam::Error (configuration)
/// if it is the folder of a run and --variant or --set have values.
LoadOptions options_of(const std::string& file, const std::vector<std::string>& variants,
                       const std::vector<std::string>& set,
                       const std::vector<std::string>& plugin_paths);

}  // namespace seam::host
