/// The files that a pipeline reads, by content: a run over a list that was edited since is another
/// run.
///
///     stage.train_items.list = "Eval/list.txt" ──► { "stage.train_items.list": SHA-256 }
///                                                    └► resolved.toml's head ──► resume, compare
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "pipeline/config/load.hpp"

namespace seam::host {

/// The stage's parameter, if it sets one that is a text; otherwise empty.
[[nodiscard]] std::string text_value(const StageSpec& stage, const std::string& parameter);

/// The file that a parameter of the stage names, which may be relative to the stage's `root`. None:
/// it names no file.
[[nodiscard]] std::optional<std::filesystem::path> file_of(const StageSpec& stage,
                                                           const ParameterInfo& parameter);

/// Of the parameters of scheduled sources that name files, and of those of other stages whose files
/// must exist, by key: the SHA-256 of the file. Without what counts only where a run begins, such
/// as initial weights. Other files may be what a stage writes.
[[nodiscard]] std::map<std::string, std::string> data_files(const CheckedPipeline& pipeline);

}  // namespace seam::host
