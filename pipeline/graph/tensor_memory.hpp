/// Memory of tensors by call of a stage.
///
///     bytes   ▁▃▇▅▄   peak: 7 more than at the call's begin; kept: 4 at its end, such as what the
///             └call┘  backward pass needs
///
/// For calls on one thread; LibTorch may allocate on another one that the call waits for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "seam/memory_listener.hpp"

namespace seam::host {

/// The most bytes of tensors that a call of a stage had in addition to those at its begin.
struct CallMemory {
  std::uint64_t peak = 0;  ///< at any time within the call
  std::uint64_t kept = 0;  ///< at the call's end

  void add(const CallMemory& other) {
    peak = std::max(peak, other.peak);
    kept = std::max(kept, other.kept);
  }
  friend bool operator==(const CallMemory&, const CallMemory&) = default;
};

class TensorMemory final : public MemoryListener {
 public:
  void allocated(std::int64_t bytes) override {
    const std::int64_t now = now_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > most_.load(std::memory_order_relaxed)) most_.store(now, std::memory_order_relaxed);
  }

  /// To be called at the end of each call: of the bytes since the last one.
  CallMemory take_call() {
    const auto least_zero = [](std::int64_t bytes) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
    };
    return {least_zero(most_.exchange(0, std::memory_order_relaxed)),
            least_zero(now_.exchange(0, std::memory_order_relaxed))};
  }

 private:
  std::atomic<std::int64_t> now_ = 0;
  std::atomic<std::int64_t> most_ = 0;
};

}  // namespace seam::host
