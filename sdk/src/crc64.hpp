/// CRC-64, to detect changes in a written file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "seam/export.hpp"

namespace seam {

/// CRC-64/XZ (ECMA-182 polynomial, reflected), updated piece by piece. Exported for tests.
class SEAM_EXPORT Crc64 {
 public:
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t remainder_ = ~std::uint64_t{0};
  std::uint64_t value_ = 0;
};

}  // namespace seam
