#include "pipeline/experiments/statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace seam::host::statistics_test {

TEST(Statistics, OfThreeValuesByHand) {
  // Mean 5; deviations -2, 0, 2; squares 8; 8 / 2 = 4.
  const std::array values{3.0, 5.0, 7.0};
  EXPECT_DOUBLE_EQ(mean_of(values), 5);
  EXPECT_DOUBLE_EQ(deviation_of(values).value(), 2);
  // t(0.975, 2) = 4.302653 (any table); 4.302653 * 2 / sqrt(3) = 4.968275.
  const Bounds bounds = interval_of_mean(values, 0.95).value();
  EXPECT_NEAR(bounds.low, 5 - 4.968275, 1e-5);
  EXPECT_NEAR(bounds.high, 5 + 4.968275, 1e-5);
}

TEST(Statistics, OfTwoValuesByHand) {
  // t(0.975, 1) = 12.706205; deviation sqrt(2); half width 12.706205 * sqrt(2) / sqrt(2).
  const std::array values{0.0, 2.0};
  EXPECT_DOUBLE_EQ(deviation_of(values).value(), std::sqrt(2.0));
  EXPECT_NEAR(interval_of_mean(values, 0.95).value().high, 1 + 12.706205, 1e-5);
}

TEST(Statistics, OneValueHasNoDeviation) {
  const std::array values{0.5};
  EXPECT_DOUBLE_EQ(mean_of(values), 0.5);
  EXPECT_FALSE(deviation_of(values));
  EXPECT_FALSE(interval_of_mean(values, 0.95));
}

TEST(Statistics, EqualValuesHaveNoInterval) {
  const std::array values{0.25, 0.25, 0.25};
  EXPECT_DOUBLE_EQ(deviation_of(values).value(), 0);
  EXPECT_FALSE(interval_of_mean(values, 0.95));
  EXPECT_FALSE(interval_of_mean(std::array{0.95 - 0.90, 0.45 - 0.40}, 0.95));
  EXPECT_FALSE(interval_of_mean(std::array{0.0, 0.0}, 0.95));
}

}  // namespace seam::host::statistics_test
