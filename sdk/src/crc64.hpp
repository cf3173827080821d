/// CRC-64, to detect changes in a written file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <boost/crc.hpp>

#include "seam/export.hpp"

namespace seam {

/// CRC-64/XZ (ECMA-182 polynomial, reflected), updated piece by piece. Exported for tests.
class SEAM_EXPORT Crc64 {
 public:
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const { return crc_.checksum(); }

 private:
  boost::crc_optimal<64, 0x42F0E1EBA9EA3693, ~std::uint64_t{0}, ~std::uint64_t{0}, true, true> crc_;
};

}  // namespace seam
