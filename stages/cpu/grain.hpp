/// How finely loops are divided among threads. A loop divides its work only if every thread gets at
/// least a grain of it, so the small tensors of tests would always stay on one thread.
///
///     at::parallel_for(0, rows, grain(256), ...)
///
/// SEAM_GRAIN=1 divides everything; test programs set it (tests/support/grain.cpp). A grain only
/// determines how much work a thread gets: blocks that define the order of a sum have a constant
/// size. The parts of a batch are the exception (nn::parts_for): there it changes last digits.
#pragma once

#include <cstdint>

namespace seam::stages {

/// The environment's SEAM_GRAIN as it was at the first call, or `usual` if there is none.
[[nodiscard]] std::int64_t grain(std::int64_t usual);

}  // namespace seam::stages
