#include "pipeline/graph/durations.hpp"

#include <cmath>

namespace seam::host {

double middle_of(std::size_t bucket) {
  const std::size_t octave = bucket / 16;
  if (octave < 2) return static_cast<double>(bucket);
  const double width = std::ldexp(1.0, static_cast<int>(octave) - 1);
  return static_cast<double>(16 + bucket % 16) * width + (width - 1) / 2;
}

void Durations::add(const DurationCounts& ticks, double seconds_a_tick) {
  for (std::size_t bucket = 0; bucket < ticks.size(); ++bucket) {
    const std::uint32_t count = ticks[bucket].load(std::memory_order_relaxed);
    if (count == 0) continue;
    counts_[bucket_of(std::llround(middle_of(bucket) * seconds_a_tick * 1e9))] += count;
  }
}

void Durations::add(const Durations& others) {
  for (const auto& [bucket, count] : others.counts_) counts_[bucket] += count;
}

double Durations::percentile(double share) const {
  std::uint64_t all = 0;
  for (const auto& [bucket, count] : counts_) all += count;
  const double rank = std::ceil(share * static_cast<double>(all));
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : counts_) {
    seen += count;
    if (static_cast<double>(seen) >= rank) return middle_of(bucket) * 1e-9;
  }
  return 0;
}

}  // namespace seam::host
