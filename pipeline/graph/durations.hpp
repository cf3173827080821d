/// How long the calls of a stage took, counted in buckets: percentiles from little memory, however
/// many calls there are.
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

/// The bucket of a duration in ticks or nanoseconds; negative ones, of clocks that were set, are 0.
[[nodiscard]] constexpr std::size_t bucket_of(std::int64_t duration) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration, 0));
  constexpr unsigned steps = 4;  // bits: 16 buckets for each power of two
  if (value < (std::uint64_t{1} << steps)) return value;
  const auto octave = static_cast<unsigned>(std::bit_width(value)) - 1 - steps;
  return (std::size_t{octave} << steps) + (value >> octave);
}

/// Half way between the least and the greatest duration of a bucket.
[[nodiscard]] double middle_of(std::size_t bucket);

inline constexpr std::size_t duration_buckets = bucket_of(INT64_MAX) + 1;

/// While a flow runs, in ticks of its clock.
using DurationCounts = std::array<std::atomic<std::uint32_t>, duration_buckets>;

/// Of one stage, over all that has run.
class Durations {
 public:
  void add(const DurationCounts& ticks, double seconds_a_tick);
  void add(const Durations& others);
  [[nodiscard]] bool empty() const { return counts_.empty(); }
  /// The duration in seconds that the share of them, from 0 to 1, does not exceed (nearest rank),
  /// to within 7 %: ticks and nanoseconds are both in buckets. 0 if there are none.
  [[nodiscard]] double percentile(double share) const;

 private:
  std::map<std::size_t, std::uint64_t> counts_;
};

}  // namespace seam::host
