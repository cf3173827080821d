#include "crc64.hpp"

#include <boost/crc.hpp>

namespace seam {

void Crc64::add(std::span<const std::byte> bytes) {
  constexpr std::uint64_t ecma = 0x42F0E1EBA9EA3693;
  constexpr std::uint64_t ones = ~std::uint64_t{0};
  boost::crc_optimal<64, ecma, ones, ones, true, true> crc(remainder_);
  crc.process_bytes(bytes.data(), bytes.size());
  remainder_ = crc.get_interim_remainder();
  value_ = crc.checksum();
}

}  // namespace seam
