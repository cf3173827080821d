/// The threads on which a stage is called.
#pragma once

#include <cstdint>

namespace seam::host {

enum class Workplace : std::uint8_t { serial_worker, parallel_workers, compute_thread };

}  // namespace seam::host
