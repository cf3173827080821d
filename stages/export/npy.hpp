/// The header of NumPy's .npy files, format 1.0, for numpy.load.
///
///     \x93NUMPY 1 0  u16 length  {'descr': '<f4', 'fortran_order': False, 'shape': (3, 128), }
///
/// numpy.lib.format describes it. The numbers follow, row by row.
#pragma once

#include <cstdint>
#include <string>

namespace seam::stages {

/// The header for float32 with this many rows and columns; always 128 bytes, so that it can be
/// rewritten once the rows are counted.
std::string npy_header(std::int64_t rows, std::int64_t columns);

}  // namespace seam::stages
