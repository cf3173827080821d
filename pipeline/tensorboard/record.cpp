#include "pipeline/tensorboard/record.hpp"

#include <algorithm>
#include <boost/crc.hpp>
#include <climits>
#include <cstddef>
#include <istream>
#include <type_traits>
#include <utility>

namespace seam::host::tensorboard {
namespace {

constexpr std::size_t length_bytes = sizeof(std::uint64_t);
constexpr std::size_t crc_bytes = sizeof(std::uint32_t);

template <class T>
std::string little_endian(T number) {
  static_assert(std::is_unsigned_v<T>);
  std::string bytes;
  for (std::size_t at = 0; at < sizeof(T); ++at) {
    bytes += static_cast<char>(static_cast<unsigned char>(number >> (CHAR_BIT * at)));
  }
  return bytes;
}

template <class T>
T number_from(std::string_view bytes) {
  T number = 0;
  for (std::size_t at = 0; at < sizeof(T); ++at) {
    number |= static_cast<T>(static_cast<unsigned char>(bytes[at])) << (CHAR_BIT * at);
  }
  return number;
}

/// Reads the next `count` bytes, or as many as exist. In pieces, so that a damaged length does not
/// allocate that much memory.
std::string next_bytes(std::istream& file, std::uint64_t count) {
  constexpr std::uint64_t piece = 1 << 20;
  std::string bytes;
  while (count > 0) {
    const auto wanted = static_cast<std::size_t>(std::min(count, piece));
    const std::size_t before = bytes.size();
    bytes.resize(before + wanted);
    file.read(bytes.data() + before, static_cast<std::streamsize>(wanted));
    const auto read = static_cast<std::size_t>(file.gcount());
    bytes.resize(before + read);
    if (read < wanted) break;
    count -= wanted;
  }
  return bytes;
}

bool fits(std::string_view crc, std::string_view bytes) {
  return number_from<std::uint32_t>(crc) == masked(crc32c(bytes));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  constexpr std::uint32_t castagnoli = 0x1EDC6F41;
  constexpr std::uint32_t ones = 0xFFFFFFFF;
  boost::crc_optimal<32, castagnoli, ones, ones, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::uint32_t masked(std::uint32_t crc) {
  constexpr unsigned rotation = 15;
  constexpr unsigned bits = 32;
  constexpr std::uint32_t offset = 0xA282EAD8;
  return ((crc >> rotation) | (crc << (bits - rotation))) + offset;
}

std::string record(std::string_view bytes) {
  const std::string length = little_endian(std::uint64_t{bytes.size()});
  std::string framed = length + little_endian(masked(crc32c(length)));
  framed += bytes;
  framed += little_endian(masked(crc32c(bytes)));
  return framed;
}

RecordsEnd read_records(std::istream& file, const std::function<void(std::string&&)>& take) {
  while (true) {
    const std::string head = next_bytes(file, length_bytes + crc_bytes);
    if (head.empty()) return RecordsEnd::complete;
    if (head.size() < length_bytes + crc_bytes) return RecordsEnd::incomplete;
    const std::string_view length = std::string_view(head).substr(0, length_bytes);
    if (!fits(std::string_view(head).substr(length_bytes), length)) return RecordsEnd::damaged;
    const auto size = number_from<std::uint64_t>(length);
    std::string bytes = next_bytes(file, size);
    const std::string crc = next_bytes(file, crc_bytes);
    if (bytes.size() < size || crc.size() < crc_bytes) return RecordsEnd::incomplete;
    if (!fits(crc, bytes)) return RecordsEnd::damaged;
    take(std::move(bytes));
  }
}

}  // namespace seam::host::tensorboard
