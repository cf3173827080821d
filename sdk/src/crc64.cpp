#include "crc64.hpp"

namespace seam {

void Crc64::add(std::span<const std::byte> bytes) {
  crc_.process_bytes(bytes.data(), bytes.size());
}

}  // namespace seam
