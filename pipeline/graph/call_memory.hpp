/// Memory of tensors by call of a stage on the compute thread.
///
///     bytes   ▁▃▇▅▄▁   peak: 7 at most, in addition to those at its start
///             └call┘   kept: 4 at its end, such as what the backward pass needs
#pragma once

#include <algorithm>
#include <cstdint>

#include "seam/tensor_memory.hpp"

namespace seam::host {

/// Bytes of tensors in one call, or the most of several calls.
struct CallMemory {
  std::uint64_t peak = 0;    ///< during the call, in addition to those at its start
  std::uint64_t kept = 0;    ///< at its end, in addition to those at its start
  std::uint64_t in_use = 0;  ///< during the call, with all other tensors of the process

  void add(const CallMemory& other) {
    peak = std::max(peak, other.peak);
    kept = std::max(kept, other.kept);
    in_use = std::max(in_use, other.in_use);
  }
  friend bool operator==(const CallMemory&, const CallMemory&) = default;
};

/// Measures calls that follow each other.
class CallMemoryMeter {
 public:
  /// Before the first call.
  void begin() { at_begin_ = tensor_memory::take().compute.now; }
  /// After each call.
  CallMemory take_call() {
    const auto at_least_zero = [](std::int64_t bytes) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
    };
    const tensor_memory::Levels levels = tensor_memory::take();
    const CallMemory call{at_least_zero(levels.compute.most - at_begin_),
                          at_least_zero(levels.compute.now - at_begin_),
                          at_least_zero(levels.all.most)};
    at_begin_ = levels.compute.now;
    return call;
  }

 private:
  std::int64_t at_begin_ = 0;
};

}  // namespace seam::host
