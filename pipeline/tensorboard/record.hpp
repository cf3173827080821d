/// The records of an event file: TFRecord framing.
///
///     u64 length │ u32 CRC of the length │ bytes │ u32 CRC of the bytes      little-endian
///
/// The checksums are CRC-32C, rotated and offset ("masked"), so that data that holds checksums does
/// not confuse them. A process that was killed leaves an incomplete last record, which readers,
/// TensorBoard's included, take for the end.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace seam::host::tensorboard {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);
[[nodiscard]] std::uint32_t masked(std::uint32_t crc);

/// The bytes framed.
[[nodiscard]] std::string record(std::string_view bytes);

enum class RecordsEnd : std::uint8_t {
  complete,
  incomplete,  ///< the last record is not whole
  damaged,     ///< a checksum does not fit; what follows is not read
};

/// Calls `take` for each whole record of a file that is opened in binary mode and at its begin.
RecordsEnd read_records(std::istream& file, const std::function<void(std::string&&)>& take);

}  // namespace seam::host::tensorboard
