// SPDX-License-Identifier: Apache-2.0
/// Safetensors: named tensors in one file that Python reads with safetensors.torch.load_file.
///
///     u64 length of the header, JSON header, bytes of the tensors one after the other
///     {"model/fc.weight": {"dtype": "F32", "shape": [10, 512], "data_offsets": [0, 20480]},
///      "__metadata__": {"format": "pt"}}
///
/// The format is little-endian and described at https://github.com/huggingface/safetensors. All
/// lengths are compared with the file's before a byte is copied. Two keys of the metadata are
/// Seam's own, and are neither needed from other programs nor shown in `metadata`:
///
///     seam.checksum   "crc64:0123456789abcdef", CRC-64/XZ of the file with zeros for these digits
///     seam.types      {"adam/note": "text"}, a JSON object as text: tensors that are stored under
///                     another type, because the format has none for theirs
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "seam/archive.hpp"

namespace seam {

struct Safetensors {
  /// Types are spelled as archives spell them: "f32", "bf16", "i64", "u8", "bool", ...
  std::map<std::string, Archive::Entry> tensors;
  std::map<std::string, std::string> metadata;

  friend bool operator==(const Safetensors&, const Safetensors&) = default;
};

/// Throws seam::Error that names the file and in what way it is damaged: sizes, offsets that leave
/// gaps or overlap, names that come twice, types that are unknown, a checksum that does not fit.
SEAM_EXPORT Safetensors read_safetensors(const std::filesystem::path& file);
/// The same from memory; `file` is what messages call it.
SEAM_EXPORT Safetensors parse_safetensors(std::span<const std::byte> bytes,
                                          const std::filesystem::path& file);

/// The bytes of a file, with a checksum. Tensors are in descending order of their elements' size,
/// so that each is aligned (PyTorch asks for it), then of their names. Every entry that an archive
/// takes has a place: text is stored as U8, complex numbers as F16, F32 or F64 with a last
/// dimension of 2. Throws seam::Error (internal) for names and metadata that are not UTF-8.
SEAM_EXPORT std::vector<std::byte> safetensors_bytes(const Safetensors& content);
/// The same without a copy of the tensors: hands the bytes to `write`, in pieces.
SEAM_EXPORT void write_safetensors(const std::map<std::string, const Archive::Entry*>& tensors,
                                   const std::map<std::string, std::string>& metadata,
                                   const std::function<void(std::span<const std::byte>)>& write);

/// The tensors of one stage, by their names in it, from what a user names:
///
/// - a safetensors file of any program, whose keys are the module's own ("layer1.0.conv1.weight"),
///   or begin with the stage's name ("model/layer1.0.conv1.weight"): where any does, only those are
///   taken;
/// - a checkpoint of Seam's: the stage of the same name in it;
/// - the folder of a run: the best checkpoint where the run kept one by a metric, else the newest.
///
/// Throws seam::Error naming what is there. A damaged checkpoint is an error and not passed over.
SEAM_EXPORT std::map<std::string, Archive::Entry> read_weights(
    const std::filesystem::path& file_or_run, const std::string& stage);

}  // namespace seam
