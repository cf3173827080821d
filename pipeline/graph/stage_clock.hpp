/// Measures the time inside stages. It is read twice per packet and stage, so it must be cheap.
///
/// On x86-64 this is the processor's time stamp counter, if Linux also uses it as its clock source:
/// it does so only if the counter runs at a constant rate and in sync on all cores. Reading it
/// costs a third of reading the system clock, which is used otherwise.
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
  /// Returns the length of a tick, measured since this object was created.
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
