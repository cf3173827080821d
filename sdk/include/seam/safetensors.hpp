// SPDX-License-Identifier: Apache-2.0
/// Safetensors: named tensors in one file that Python reads with safetensors.torch.load_file.
///
///     u64 length of the header, JSON header, bytes of the tensors one after the other
///     {"model/fc.weight": {"dtype": "F32", "shape": [10, 512], "data_offsets": [0, 20480]},
///      "__metadata__": {"format": "pt"}}
///
/// The format is little-endian and described at https://github.com/huggingface/safetensors. All
/// lengths are compared with the file's before a byte is copied. Two metadata keys are Seam's own;
/// other programs need not write them, and `metadata` does not contain them:
///
///     seam.checksum   "crc64:0123456789abcdef", CRC-64/XZ of the file with zeros for these digits
///     seam.types      {"adam/note": "text"}, a JSON object as text: tensors that are stored under
///                     another type, because the format lacks theirs
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
  /// Types are spelled as in archives: "f32", "bf16", "i64", "u8", "bool", ...
  std::map<std::string, Archive::Entry> tensors;
  std::map<std::string, std::string> metadata;

  friend bool operator==(const Safetensors&, const Safetensors&) = default;
};

/// Throws seam::Error with the file and the kind of damage: sizes, offsets with gaps or overlaps,
/// repeated names, unknown types, a checksum that does not match.
SEAM_EXPORT Safetensors read_safetensors(const std::filesystem::path& file);
/// The same from memory; `file` is its name in messages.
SEAM_EXPORT Safetensors parse_safetensors(std::span<const std::byte> bytes,
                                          const std::filesystem::path& file);

/// The bytes of a file, with a checksum. Tensors are in descending order of their elements' size,
/// so that each is aligned (as PyTorch requires), then of their names. All archive entries can be
/// stored: text as U8, complex numbers as F16, F32 or F64 with a last dimension of 2. Throws
/// seam::Error (internal) for names and metadata that are not UTF-8.
SEAM_EXPORT std::vector<std::byte> safetensors_bytes(const Safetensors& content);
/// The same without a copy of the tensors: passes the bytes to `write` in pieces.
SEAM_EXPORT void write_safetensors(const std::map<std::string, const Archive::Entry*>& tensors,
                                   const std::map<std::string, std::string>& metadata,
                                   const std::function<void(std::span<const std::byte>)>& write);

/// Reads the tensors of one stage, by their names in it, from a path given by the user:
///
/// - a safetensors file of any program, whose keys are the module's own ("layer1.0.conv1.weight"),
///   or begin with the stage's name ("model/layer1.0.conv1.weight"): if any key does, only those
///   are used;
/// - a checkpoint of Seam's: the stage of the same name in it;
/// - a run folder: the best checkpoint if the run kept one by a metric, otherwise the newest.
///
/// Throws seam::Error with the available files or stages. A damaged checkpoint is an error and is
/// not skipped.
SEAM_EXPORT std::map<std::string, Archive::Entry> read_weights(
    const std::filesystem::path& file_or_run, const std::string& stage);

}  // namespace seam
