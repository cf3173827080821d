/// From several texts one tree: `extends`, then the file itself, then its variants, then --set.
///
///     base.toml ─┐
///     a.toml ────┼──► one tree, every value with the place it was last set
///     --set ─────┘
///
/// Tables are merged key by key, all else is replaced. A stage that becomes another by a different
/// `use` loses the parameters that were meant for what it was.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"

namespace seam::host {

/// Lays `over` on top of `base`. Variables in `use` and `like` are looked up in `environment`.
void merge_tables(Table& base, Table over, const std::map<std::string, std::string>& environment);

/// Reads the file and all that it extends. Nothing where one of them could not be read.
std::optional<Table> read_with_bases(const std::filesystem::path& file,
                                     const std::map<std::string, std::string>& environment,
                                     Sources& sources, Findings& findings);

/// Applies --set options, "stage.model.classes=50" each: later ones go before earlier ones, and all
/// of them are laid over the tree together. Returns their keys.
std::vector<std::string> apply_overrides(Table& tree, const std::vector<std::string>& overrides,
                                         const std::map<std::string, std::string>& environment,
                                         Sources& sources, Findings& findings);

/// Replaces variables in all texts of the tree.
void expand_tree(Table& tree, const std::map<std::string, std::string>& environment,
                 const Sources& sources, Findings& findings);

}  // namespace seam::host
