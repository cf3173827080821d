/// The records of an event file: TFRecord framing.
///
///     u64 length │ u32 CRC of the length │ bytes │ u32 CRC of the bytes      little-endian
///
/// The checksums are CRC-32C, rotated and offset ("masked"), so that data that holds checksums does
/// not confuse them. A killed process leaves an incomplete last record, which readers (including
/// TensorBoard) treat as the end.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace seam::host::tensorboard {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);
[[nodiscard]] std::uint32_t masked(std::uint32_t crc);

/// Frames the bytes as a record.
[[nodiscard]] std::string record(std::string_view bytes);

enum class RecordsEnd : std::uint8_t {
  complete,
  incomplete,  ///< the last record is incomplete
  damaged,     ///< a checksum does not match; the rest is not read
};

/// Calls `take` for each complete record of a file that is open in binary mode at its beginning.
RecordsEnd read_records(std::istream& file, const std::function<void(std::string&&)>& take);

}  // namespace seam::host::tensorboard
