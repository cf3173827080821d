#include "pipeline/graph/stage_clock.hpp"

#include <gtest/gtest.h>

namespace seam::host::stage_clock_test {

TEST(StageClock, TheCheapestIsOfAKnownLength) {
  const StageClock clock(StageClock::Kind::cheapest);
  const std::int64_t first = clock.now();
  EXPECT_GE(clock.now(), first);
  EXPECT_GT(clock.seconds_a_tick(), 0);
  EXPECT_LT(clock.seconds_a_tick(), 1e-6) << "no clock worth the name ticks so slowly";
}

}  // namespace seam::host::stage_clock_test
