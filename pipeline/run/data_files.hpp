/// Hashes of the files that a pipeline reads: if a list is edited, it is a different run.
///
///     stage.train_items.list = "Eval/list.txt" ──► { "stage.train_items.list": SHA-256 }
///                                                    └► resolved.toml's head ──► resume, compare
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/load.hpp"

namespace seam::host {

/// The value of the stage's parameter if it is set and a string; otherwise empty.
[[nodiscard]] std::string text_value(const StageSpec& stage, const std::string& parameter);

/// The file that a parameter of the stage names; the path may be relative to the stage's `root`.
/// Returns nullopt if it does not name a file.
[[nodiscard]] std::optional<std::filesystem::path> file_of(const StageSpec& stage,
                                                           const ParameterInfo& parameter);

/// The SHA-256 of the files named by parameters of scheduled sources, and of those named by other
/// stages' parameters that require an existing file, by key. Without files that matter only at the
/// start of a run, such as initial weights. Other files may be outputs of a stage.
[[nodiscard]] std::map<std::string, std::string> data_files(const CheckedPipeline& pipeline);

/// What happens if a run in `weights` no longer has the checkpoint to import.
enum class Lost : std::uint8_t { refused, left_out };

/// The same for the files that matter only at the start of a run, such as initial weights; for a
/// run, those of its folder that weights are loaded from.
[[nodiscard]] std::map<std::string, std::string> initial_files(const CheckedPipeline& pipeline,
                                                               Lost lost = Lost::refused);

/// A parameter by which a stage may write to a path outside the run folder: a path that is absolute
/// or begins with `..`, and is not declared as an input.
struct WrittenElsewhere {
  std::string stage;
  std::string key;  ///< "stage.embeddings.folder"
  std::string path;
};
/// In the order of the stages.
[[nodiscard]] std::vector<WrittenElsewhere> written_elsewhere(const CheckedPipeline& pipeline);

/// The keys of both whose content is different now; `Content` is a hash or digest.
template <class Content>
[[nodiscard]] std::vector<std::string> changed_data(const std::map<std::string, Content>& before,
                                                    const std::map<std::string, Content>& now) {
  std::vector<std::string> changed;
  for (const auto& [key, content] : before) {
    const auto found = now.find(key);
    if (found != now.end() && found->second != content) changed.push_back(key);
  }
  return changed;
}

}  // namespace seam::host
