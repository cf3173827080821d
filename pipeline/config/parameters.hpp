/// The keys of a resolved pipeline one by one, for who compares pipelines.
///
///     [stage.loss]          ──► "stage.loss.margin" = "0.2"
///     margin = 0.2
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace seam::host {

/// "stage.loss.margin" -> "0.2": every key of a resolved pipeline, its value as TOML writes it.
using Parameters = std::map<std::string, std::string, std::less<>>;

/// Reads the text of a resolved pipeline; `file` is what messages call it. Throws seam::Error
/// (data) where it is no TOML.
Parameters parameters_of(const std::string& resolved, const std::string& file);

/// Whether a parameter can change what a run computes; its name or its threads cannot.
bool changes_results(std::string_view key);

}  // namespace seam::host
