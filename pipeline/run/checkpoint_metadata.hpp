/// The metadata of a checkpoint: values of the run that are not tensors.
///
///     Checkpoint ──► metadata_of() ──► { "seam.run.epochs_done": "3", ... }
///                                          └──► take_metadata() ──► Checkpoint
///
/// Non-ASCII strings of the run are percent-encoded.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pipeline/run/checkpoint.hpp"

namespace seam::host {

inline constexpr std::string_view checkpoint_version = "5";
/// Can be read, too: it had a hash of the pipeline instead of its text.
inline constexpr std::string_view earlier_checkpoint_version = "4";

using Metadata = std::map<std::string, std::string>;

[[nodiscard]] Metadata metadata_of(const Checkpoint& checkpoint);

/// Sets everything except the archives: those in `stages` stay empty. Throws seam::Error that names
/// a missing or invalid value.
void take_metadata(const Metadata& metadata, Checkpoint& checkpoint);

/// The pipeline of the run that wrote the checkpoint; nullopt before version 5.
[[nodiscard]] std::optional<std::string> pipeline_in(const Metadata& metadata);

/// Encodes any bytes as ASCII: '%' and non-ASCII bytes as "%C3". A plugin's path may not be UTF-8.
[[nodiscard]] std::string escaped(std::string_view bytes);
/// Decodes such a text. Throws seam::Error for a '%' without two digits.
[[nodiscard]] std::string unescaped(std::string_view text);

}  // namespace seam::host
