/// Measures the time inside stages: read twice for each packet and stage, so it must cost little.
///
/// On x86-64 this is the processor's time stamp counter where Linux keeps its own time by it, which
/// it does only where the counter runs evenly and alike on all cores: a third of what the system's
/// clock costs. Elsewhere it is that clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace seam::host {

class StageClock {
 public:
  enum class Kind : std::uint8_t { cheapest, system };
  /// `system`: ticks are nanoseconds of std::chrono::steady_clock.
  explicit StageClock(Kind kind);

  [[nodiscard]] std::int64_t now() const {
#ifdef __x86_64__
    if (counter_) return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#endif
    return system_now();
  }
  /// How long a tick is, from the time since this object was made.
  [[nodiscard]] double seconds_a_tick() const;

 private:
  static std::int64_t system_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  bool counter_ = false;
  std::int64_t first_tick_ = 0;
  std::int64_t first_nanosecond_ = 0;
};

}  // namespace seam::host
