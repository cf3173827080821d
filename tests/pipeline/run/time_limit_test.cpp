#include "pipeline/run/time_limit.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace seam::host::time_limit_test {

using std::chrono::seconds;

TEST(DurationOf, TakesHoursMinutesAndSeconds) {
  EXPECT_EQ(duration_of("3h"), seconds(10'800));
  EXPECT_EQ(duration_of("90m"), seconds(5'400));
  EXPECT_EQ(duration_of("45s"), seconds(45));
  EXPECT_EQ(duration_of("1h30m"), seconds(5'400));
  EXPECT_EQ(duration_of("1h0m5s"), seconds(3'605));
}

TEST(DurationOf, RefusesWhatItCouldMisunderstand) {
  for (const char* text : {"", "3", "h", "0s", "-3h", "3 h", "30m1h", "3h3h", "1.5h", "3hours",
                           "99999999999999999999h", "9999999h", "3h5"}) {
    EXPECT_FALSE(duration_of(text)) << text;
  }
}

}  // namespace seam::host::time_limit_test
