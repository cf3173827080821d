#include "stages/decimals.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace seam::stages::decimals_test {

TEST(Decimals, AreAsManyAsAskedFor) {
  EXPECT_EQ(with_decimals(3.1), "3.10");
  EXPECT_EQ(with_decimals(-0.006), "-0.01");
  EXPECT_EQ(with_decimals(2.5, 0), "2");
  EXPECT_EQ(with_decimals(1.0 / 3, 5), "0.33333");
}

TEST(Decimals, HaveRoomForAnyNumber) {
  EXPECT_EQ(with_decimals(1e300).size(), 304U);
  EXPECT_EQ(with_decimals(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(with_decimals(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Decimals, APercentageIsAHundredTimesTheShare) {
  EXPECT_EQ(percent(0.9234), "92.34");
  EXPECT_EQ(percent(1), "100.00");
  EXPECT_EQ(percent(0.00012, 4), "0.0120");
}

}  // namespace seam::stages::decimals_test
