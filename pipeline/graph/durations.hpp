/// Durations of a stage's calls, counted in buckets: percentiles from little memory for any number
/// of calls.
///
///     ... | 16 buckets from 1 to 2 µs | 16 from 2 to 4 µs | ...      each 3 to 6 % wide
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>

namespace seam::host {

/// The bucket of a duration in ticks or nanoseconds; negative ones (the clock was set back) are 0.
[[nodiscard]] constexpr std::size_t bucket_of(std::int64_t duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration, 0));
  constexpr unsigned steps = 4;  // bits: 16 buckets for each power of two
  if (value < (std::uint64_t{1} << steps)) return value;
  const auto octave = static_cast<unsigned>(std::bit_width(value)) - 1 - steps;
  return (std::size_t{octave} << steps) + (value >> octave);
}

/// The centre between the minimum and the maximum duration of a bucket.
[[nodiscard]] double middle_of(std::size_t bucket);

inline constexpr std::size_t duration_buckets = bucket_of(INT64_MAX) + 1;

/// While a flow runs, in ticks of its clock.
using DurationCounts = std::array<std::atomic<std::uint32_t>, duration_buckets>;

/// The durations of one stage in all flows that have run.
class Durations {
 public:
  void add(const DurationCounts& ticks, double seconds_a_tick);
  void add(const Durations& others);
  [[nodiscard]] bool empty() const { return counts_.empty(); }
  /// The duration in seconds that a fraction `share` (0 to 1) of them does not exceed (nearest
  /// rank), accurate to 7 %, because ticks and nanoseconds are both in buckets. 0 if there are
  /// none.
  [[nodiscard]] double percentile(double share) const;

 private:
  std::map<std::size_t, std::uint64_t> counts_;
};

}  // namespace seam::host
