/// The rows of a batch in the messages of losses.
#pragma once

#include <seam/tensor.hpp>

#include <cstdint>
#include <string>

namespace seam::stages {

/// The row's origin, or its number if the batch has no origins.
[[nodiscard]] inline std::string row_name(const Packet& packet, std::int64_t row) {
  return packet.has(field::origins)
             ? packet.get(field::origins).at(static_cast<std::size_t>(row)).text()
             : "row " + std::to_string(row);
}

/// Throws seam::Error for a batch without rows.
inline void check_rows(std::int64_t rows) {
  if (rows == 0) throw Error("the batch has no rows, and a mean needs one");
}

}  // namespace seam::stages
