/// The header of NumPy's .npy files, format 1.0: what numpy.load reads.
///
///     \x93NUMPY 1 0  u16 length  {'descr': '<f4', 'fortran_order': False, 'shape': (3, 128), }
///
/// numpy.lib.format describes it. The numbers follow, row by row.
#pragma once

#include <cstdint>
#include <string>

namespace seam::stages {

/// For float32 of that many rows and columns; 128 bytes whatever the numbers, so that it can be
/// written again once the rows are counted.
std::string npy_header(std::int64_t rows, std::int64_t columns);

}  // namespace seam::stages
