/// Merges several sources into one tree: `extends`, then the file itself, its variants and --set.
///
///     base.toml ─┐
///     a.toml ────┼──► one tree, every value with the place it was last set
///     --set ─────┘
///
/// Tables are merged key by key; other values are replaced. A stage whose type changes through a
/// different `use` loses the parameters of its former type.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/variables.hpp"

namespace seam::host {

/// Lays `over` on top of `base`. Variables in `use` and `like` are looked up in `environment`.
void merge_tables(Table& base, Table over, const Environment& environment);

/// Reads the file and all files that it extends; nullopt if one of them cannot be read.
std::optional<Table> read_with_bases(const std::filesystem::path& file,
                                     const Environment& environment, Sources& sources,
                                     Findings& findings);

/// Applies --set options, "stage.model.classes=50" each: later ones override earlier ones, and all
/// of them are laid over the tree together. Returns their keys.
std::vector<std::string> apply_overrides(Table& tree, const std::vector<std::string>& overrides,
                                         const Environment& environment, Sources& sources,
                                         Findings& findings);

/// Replaces variables in all texts of the tree.
void expand_tree(Table& tree, const Environment& environment, const Sources& sources,
                 Findings& findings);

}  // namespace seam::host
