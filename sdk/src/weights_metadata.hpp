/// What the file that weights come from says besides its tensors. For the program; plugins read
/// weights with read_weights() of <seam/safetensors.hpp>.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "seam/export.hpp"

namespace seam::host {

/// The metadata's value of that key in the file that read_weights() takes tensors from; none where
/// the file does not have it. Throws what read_weights() throws where there is no such file.
[[nodiscard]] SEAM_EXPORT std::optional<std::string> weights_metadata(
    const std::filesystem::path& file_or_run, const std::string& key);

}  // namespace seam::host
