/// What the file that weights come from says besides its tensors. For the program; plugins read
/// weights with read_weights() of <seam/safetensors.hpp>.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "seam/export.hpp"

namespace seam::host {

/// The metadata's value of that key in the file that read_weights() takes tensors from; none where
/// the file does not have it. Throws what read_weights() throws where there is no such file.
[[nodiscard]] SEAM_EXPORT std::optional<std::string> weights_metadata(
    const std::filesystem::path& file_or_run, const std::string& key);

/// The file that read_weights() takes tensors from, and what is said of how it was chosen.
struct WeightsFile {
  std::filesystem::path path;
  std::map<std::string, std::string> metadata;  ///< its own
  /// Of the checkpoint that says which one is the best: of a run the newest, else the file itself.
  std::map<std::string, std::string> chooser;
};
/// Throws what read_weights() throws where there is no such file.
[[nodiscard]] SEAM_EXPORT WeightsFile weights_file(const std::filesystem::path& file_or_run);

}  // namespace seam::host
