/// Loading of pipelines and reporting of errors, the same for all verbs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/cli/verbs.hpp"
#include "seam/error.hpp"

namespace seam::host {

/// Prints the message and its chain. Returns the exit code for its fault.
ExitCode report_error(const Error& error);

/// Prints all problems of a pipeline file in the format of a compiler.
void report_problems(const std::vector<Problem>& problems);

/// The error of a verb that needs the data of the stages: "`doing`, because data is missing:" and
/// the list.
Error missing_data_error(const std::string& doing, const std::vector<std::string>& missing);

/// Loads a pipeline for a verb that does not run it, and prints the problems. Returns nullopt if
/// there were errors.
std::optional<CheckedPipeline> load_or_report(LoadOptions options);

/// Calls `use` for each stage type that a pipeline may use, described with the help of the user's
/// cache. Warns of those that cannot be described.
void for_each_stage(Registry& registry, const std::function<void(const StageRunner&)>& use);

/// Returns how to load a pipeline file.
LoadOptions file_options(const FileArguments& arguments);
/// Returns how to load a pipeline file or a run folder. Throws seam::Error (configuration) if it is
/// a run folder and --variant or --set have values.
LoadOptions options_of(const FileArguments& arguments);

}  // namespace seam::host
