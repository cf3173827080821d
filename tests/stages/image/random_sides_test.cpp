#include "stages/image/random_sides.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::random_sides_test {

TEST(NearestWhole, RoundsAsPythonDoes) {
  EXPECT_EQ(nearest_whole(0), 0);
  EXPECT_EQ(nearest_whole(0.5), 0);
  EXPECT_EQ(nearest_whole(1.5), 2);
  EXPECT_EQ(nearest_whole(2.5), 2);
  EXPECT_EQ(nearest_whole(2.4999999), 2);
  EXPECT_EQ(nearest_whole(2.5000001), 3);
  EXPECT_EQ(nearest_whole(-0.5), 0);
  EXPECT_EQ(nearest_whole(-1.5), -2);
  EXPECT_EQ(nearest_whole(-0.6), -1);
  EXPECT_EQ(nearest_whole(4e10 + 0.25), 40000000000);
}

TEST(RandomSides, AreThoseOfAHandComputedCase) {
  // A quarter of 40 x 90 is 900: sides of aspect 4 are sqrt(900 * 4) = 60 and sqrt(900 / 4) = 15.
  Random random(1, 2);
  EXPECT_EQ(draw_sides(test::smooth_picture(40, 90), {0.25, 0.25, 4, 4}, random),
            (RandomSides{.numerator = 60, .denominator = 15}));
}

TEST(RandomSides, DrawTheAreaUniformlyAndTheAspectsLogarithm) {
  const Image image = test::smooth_picture(1000, 1200);  // large, so that rounding hardly matters
  constexpr double pixels = 1000 * 1200;
  constexpr int draws = 20000;
  Random random(5, 6);
  double share_sum = 0;
  double log_sum = 0;
  double log_squares = 0;
  double least_share = 1;
  double most_share = 0;
  double least_aspect = 100;
  double most_aspect = 0;
  for (int i = 0; i < draws; ++i) {
    const auto [numerator, denominator] = draw_sides(image, {0.2, 0.6, 0.5, 4}, random);
    const double share = static_cast<double>(numerator) * static_cast<double>(denominator) / pixels;
    const double aspect = static_cast<double>(numerator) / static_cast<double>(denominator);
    share_sum += share;
    log_sum += std::log(aspect);
    log_squares += std::log(aspect) * std::log(aspect);
    least_share = std::min(least_share, share);
    most_share = std::max(most_share, share);
    least_aspect = std::min(least_aspect, aspect);
    most_aspect = std::max(most_aspect, aspect);
  }
  EXPECT_NEAR(least_share, 0.2, 0.001);
  EXPECT_NEAR(most_share, 0.6, 0.001);
  EXPECT_NEAR(least_aspect, 0.5, 0.005);
  EXPECT_NEAR(most_aspect, 4, 0.04);
  // Uniform in [a, b]: mean (a + b) / 2, variance (b - a)^2 / 12; five standard errors.
  const double error = 5 / std::sqrt(12.0 * draws);
  EXPECT_NEAR(share_sum / draws, 0.4, 0.4 * error);
  const double mean_log = log_sum / draws;
  EXPECT_NEAR(mean_log, std::log(2.0) / 2, std::log(8.0) * error);
  EXPECT_NEAR(log_squares / draws - mean_log * mean_log, std::pow(std::log(8.0), 2) / 12, 0.01);
}

}  // namespace seam::stages::random_sides_test
