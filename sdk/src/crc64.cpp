#include "crc64.hpp"

#include <array>

namespace seam {
namespace {

constexpr std::uint64_t ecma_reflected = 0xC96C5795D7870F42U;

using CrcTables = std::array<std::array<std::uint64_t, 256>, 8>;

/// tables[k][b]: the effect of byte b on the state if k further bytes follow it, so that one step
/// processes eight bytes.
constexpr CrcTables make_crc_tables() {
  CrcTables tables{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::uint64_t state = byte;
    for (int bit = 0; bit < 8; ++bit) {
      state = (state >> 1U) ^ ((state & 1U) != 0 ? ecma_reflected : 0);
    }
    tables[0][byte] = state;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr CrcTables crc_tables = make_crc_tables();

}  // namespace

void Crc64::add(std::span<const std::byte> bytes) {
  std::uint64_t state = state_;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    for (unsigned i = 0; i < 8; ++i) state ^= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
    std::uint64_t next = 0;
    for (unsigned i = 0; i < 8; ++i) next ^= crc_tables[7 - i][(state >> (8 * i)) & 0xFFU];
    state = next;
  }
  for (; left > 0; --left, ++at) {
    state = (state >> 8U) ^ crc_tables[0][(state ^ std::to_integer<std::uint64_t>(*at)) & 0xFFU];
  }
  state_ = state;
}

}  // namespace seam
