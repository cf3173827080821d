/// Where a stage's calls are made.
#pragma once

#include <cstdint>

namespace seam::host {

enum class Workplace : std::uint8_t { serial_worker, parallel_workers, compute_thread };

}  // namespace seam::host
