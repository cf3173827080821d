/// The keys of a resolved pipeline as a flat list, for comparing pipelines.
///
///     [stage.loss]          ──► "stage.loss.margin" = "0.2"
///     margin = 0.2
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

/// "stage.loss.margin" -> "0.2": every key of a resolved pipeline, its value as TOML writes it.
using Parameters = std::map<std::string, std::string, std::less<>>;

/// Reads the text of a resolved pipeline, whose variants are added as "variant.loss" -> "arcface",
/// or "variant" for those in no group; `file` is its name in messages. Throws seam::Error (data) if
/// it is not valid TOML.
Parameters parameters_of(const std::string& resolved, const std::string& file);

/// The keys in which pipelines differ because their variants decide them: shown by the keys
/// "variant" and "variant.GROUP" instead. Keys that --set changed in one of the
/// pipelines are left out, and so are keys that differ between pipelines with the same variants.
std::set<std::string> decided_by_variants(const std::vector<const Parameters*>& pipelines);

/// Returns whether --set changed the key when the run was started. Runs of earlier versions record
/// this only if their file has variants.
bool is_set_by_user(const Parameters& parameters, std::string_view key);

/// Whether the key is one of these, or in a table or stage that is.
bool stands_in(const std::vector<std::string>& keys, std::string_view key);

}  // namespace seam::host
