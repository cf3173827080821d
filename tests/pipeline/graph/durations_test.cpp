#include "pipeline/graph/durations.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>

namespace seam::host::durations_test {

/// Each of these durations once.
Durations durations(std::initializer_list<std::int64_t> ticks, double seconds_a_tick) {
  DurationCounts counts{};
  for (const std::int64_t one : ticks) ++counts.at(bucket_of(one));
  Durations all;
  all.add(counts, seconds_a_tick);
  return all;
}

TEST(Durations, ABucketHoldsWhatIsNearItsMiddle) {
  for (std::int64_t ticks = 1; ticks < std::numeric_limits<std::int64_t>::max() / 5; ticks *= 5) {
    const auto duration = static_cast<double>(ticks);
    EXPECT_NEAR(middle_of(bucket_of(ticks)), duration, 0.032 * duration);
  }
  EXPECT_EQ(bucket_of(-1), 0U) << "the clock was set back";
  EXPECT_EQ(bucket_of(std::numeric_limits<std::int64_t>::max()) + 1, duration_buckets);
}

TEST(Durations, LongerOnesAreInLaterBuckets) {
  for (std::int64_t ticks = 0; ticks < 5000; ++ticks) {
    EXPECT_LE(bucket_of(ticks), bucket_of(ticks + 1));
    EXPECT_LE(bucket_of(ticks + 1) - bucket_of(ticks), 1U) << "no bucket stays empty";
  }
}

TEST(Durations, PercentilesAreNearestRanks) {
  // 1 to 9 ms, and one of 2 s; ticks of half a microsecond.
  const Durations times =
      durations({2000, 4000, 6000, 8000, 10000, 12000, 14000, 16000, 18000, 4000000}, 0.5e-6);
  EXPECT_NEAR(times.percentile(0.5), 0.005, 0.07 * 0.005);
  EXPECT_NEAR(times.percentile(0.9), 0.009, 0.07 * 0.009);
  EXPECT_NEAR(times.percentile(0.99), 2, 0.07 * 2);
  EXPECT_NEAR(times.percentile(0), 0.001, 0.07 * 0.001);
}

TEST(Durations, ThoseOfSeveralFlowsAddUp) {
  Durations times = durations({1000, 1000, 1000}, 1e-6);
  times.add(durations({1000000}, 1e-9));
  times.add(durations({5000, 5000, 5000, 5000, 5000}, 1e-6));
  EXPECT_NEAR(times.percentile(0.44), 0.001, 0.07 * 0.001);
  EXPECT_NEAR(times.percentile(0.45), 0.005, 0.07 * 0.005);
}

TEST(Durations, WithoutCallsThereAreNone) {
  EXPECT_TRUE(Durations().empty());
  EXPECT_EQ(Durations().percentile(0.5), 0);
}

}  // namespace seam::host::durations_test
