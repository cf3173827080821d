/// Two pipeline files for a comparison must differ only in the compared aspect. One of them names
/// the other and the keys in which they differ:
///
///     [pipeline]
///     twin       = "sccapsnet.toml"
///     differs_in = ["stage.model", "path.embed"]      keys, or beginnings of keys
///
/// `seam check` reports other differences.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/problem.hpp"
#include "pipeline/run/from_run.hpp"

namespace seam::host {

/// The path of the file's twin, which the file gives relative to itself. Empty: it has none.
[[nodiscard]] std::filesystem::path twin_of(const PipelineSpec& spec);

/// A problem of the file with its twin.
[[nodiscard]] Problem twin_problem(const PipelineSpec& spec, std::string message,
                                   std::vector<std::string> notes = {});

/// Returns a problem for each difference that affects results and is not named in `differs_in`, and
/// for each of its names without a difference. `twin`: the resolved text of the other file.
[[nodiscard]] std::vector<Problem> check_twin(const PipelineSpec& spec, const std::string& twin);

}  // namespace seam::host
