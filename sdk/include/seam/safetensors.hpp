/// Safetensors: named tensors in one file that Python reads with safetensors.torch.load_file.
///
///     u64 length of the header, JSON header, bytes of the tensors one after the other
///     {"model/fc.weight": {"dtype": "F32", "shape": [10, 512], "data_offsets": [0, 20480]},
///      "__metadata__": {"format": "pt"}}
///
/// The format is little-endian and described at https://github.com/huggingface/safetensors. All
/// lengths are compared with the file's before a byte is copied.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "seam/archive.hpp"

namespace seam {

struct Safetensors {
  /// Types are spelled as archives spell them: "f32", "bf16", "i64", "u8", "bool", ...
  std::map<std::string, Archive::Entry> tensors;
  std::map<std::string, std::string> metadata;

  friend bool operator==(const Safetensors&, const Safetensors&) = default;
};

/// Throws seam::Error that names the file and in what way it is damaged: sizes, offsets that leave
/// gaps or overlap, names that come twice, types that are unknown.
SEAM_EXPORT Safetensors read_safetensors(const std::filesystem::path& file);
/// The same from memory; `file` is what messages call it.
SEAM_EXPORT Safetensors parse_safetensors(std::span<const std::byte> bytes,
                                          const std::filesystem::path& file);
/// The bytes of a file: tensors in the order of their names. Throws seam::Error (internal) for a
/// type that the format does not have.
SEAM_EXPORT std::vector<std::byte> safetensors_bytes(const Safetensors& content);

/// The tensors of one stage, by their names in it, from what a user names: a safetensors file,
/// whose keys are either the module's own ("layer1.0.conv1.weight") or, in a checkpoint of Seam's,
/// those of `stage` ("model/layer1.0.conv1.weight"); or a run directory, of which the best
/// checkpoint is taken where the run kept one by a metric, else the newest. Throws seam::Error
/// naming what is there.
SEAM_EXPORT std::map<std::string, Archive::Entry> read_weights(
    const std::filesystem::path& file_or_run, const std::string& stage);

}  // namespace seam
