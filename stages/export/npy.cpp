#include "stages/export/npy.hpp"

#include <bit>
#include <seam/error.hpp>

namespace seam::stages {

std::string npy_header(std::int64_t rows, std::int64_t columns) {
  static_assert(std::endian::native == std::endian::little, "'<f4' is little-endian");
  constexpr std::size_t size = 128;  // numpy aligns to 64; two numbers of 19 digits fit
  std::string header("\x93NUMPY\x01\x00", 8);
  const std::size_t length = size - header.size() - 2;
  header += static_cast<char>(length);
  header += '\0';
  header += "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", " +
            std::to_string(columns) + "), }";
  if (header.size() >= size) throw Error("a header that does not fit", Fault::internal);
  header.append(size - 1 - header.size(), ' ');
  return header + '\n';
}

}  // namespace seam::stages
