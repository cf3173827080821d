/// The rows of a batch in losses, and their names in messages.
#pragma once

#include <seam/tensor.hpp>

#include <cstdint>

#include "stages/picture_paths.hpp"

namespace seam::stages {

/// Throws seam::Error for a batch without rows.
inline void check_rows(std::int64_t rows) {
  if (rows == 0) throw Error("the batch has no rows, and a mean needs one");
}

}  // namespace seam::stages
