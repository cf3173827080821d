/// Two pipeline files that are compared must differ in what is compared and in nothing else. One
/// names the other and says in what they differ:
///
///     [pipeline]
///     twin       = "capsules-hard.toml"
///     differs_in = ["stage.model", "path.embed"]      keys, or the beginnings of keys
///
/// `seam check` finds what differs besides.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/problem.hpp"
#include "pipeline/run/from_run.hpp"

namespace seam::host {

/// Where the file's twin is: relative to the file. Empty: it has none.
[[nodiscard]] std::filesystem::path twin_of(const PipelineSpec& spec);

/// A problem of the file with its twin.
[[nodiscard]] Problem twin_problem(const PipelineSpec& spec, std::string message,
                                   std::vector<std::string> notes = {});

/// A problem for each difference in results that `differs_in` does not name, and for each of its
/// names for which there is no difference. `twin`: the resolved text of the other file.
[[nodiscard]] std::vector<Problem> check_twin(const PipelineSpec& spec, const std::string& twin);

}  // namespace seam::host
