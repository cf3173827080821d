/// What the metadata of a checkpoint say of the run, apart from its tensors.
///
///     Checkpoint ◄── take_metadata() ── { "seam.run.epochs_done": "3", ... } ◄── metadata_of() ──
///     Checkpoint
///
/// Texts of the run are percent-encoded where they are not ASCII.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "pipeline/run/checkpoint.hpp"

namespace seam::host {

inline constexpr std::string_view checkpoint_version = "5";
/// Those before are read as well: 4 had a hash of the pipeline instead of its text, and 3 only
/// checkpoints between epochs. 1 and 2 were other files.
inline constexpr std::array<std::string_view, 2> earlier_checkpoint_versions{"3", "4"};

using Metadata = std::map<std::string, std::string>;

[[nodiscard]] Metadata metadata_of(const Checkpoint& checkpoint);

/// Sets all but the archives, which `stages` get empty. Throws seam::Error naming what is missing
/// or contradicts itself.
void take_metadata(const Metadata& metadata, Checkpoint& checkpoint);

/// Any bytes as UTF-8: '%' and what is not ASCII as "%C3". A plugin's path need not be UTF-8.
[[nodiscard]] std::string escaped(std::string_view bytes);
/// Takes that back. Throws seam::Error for a '%' without two digits.
[[nodiscard]] std::string unescaped(std::string_view text);

}  // namespace seam::host
