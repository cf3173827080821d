#include <algorithm>
#include <array>
#include <cmath>
#include <seam/random.hpp>
#include <set>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::random_test {

using ::testing::Ne;

// The known-answer vectors that Random123, the authors' library, publishes for philox4x32-10.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  constexpr std::uint32_t ones = 0xffffffffU;
  EXPECT_THAT(philox({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  // The digits of pi.
  EXPECT_THAT(
      philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
      ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

std::vector<std::uint32_t> first(Random random, int count = 16) {
  std::vector<std::uint32_t> draws;
  for (int i = 0; i < count; ++i) draws.push_back(random.bits32());
  return draws;
}

TEST(Random, DependsOnEachArgument) {
  const auto draws = first({7, 1, 2, 3});
  EXPECT_EQ(first({7, 1, 2, 3}), draws);
  EXPECT_THAT(first({8, 1, 2, 3}), Ne(draws));
  EXPECT_THAT(first({7, 2, 2, 3}), Ne(draws));
  EXPECT_THAT(first({7, 1, 3, 3}), Ne(draws));
  EXPECT_THAT(first({7, 1, 2, 4}), Ne(draws));
  EXPECT_THAT(first({7, 1, 2, 3 + (std::uint64_t{1} << 32U)}), Ne(draws));
  EXPECT_NE(first({1, 2}), first({2, 1})) << "seed and stream are not interchangeable";
}

TEST(Random, StreamsOfDifferentNamesDiffer) {
  EXPECT_NE(stream_of("augment"), stream_of("augment2"));
  EXPECT_NE(stream_of(""), stream_of("a"));
  EXPECT_EQ(stream_of("augment"), stream_of(std::string("aug") + "ment"));
}

TEST(Random, UniformFillsTheUnitInterval) {
  Random random(1, 2);
  double sum = 0;
  double least = 1;
  double most = 0;
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) {
    const double draw = random.uniform();
    ASSERT_GE(draw, 0);
    ASSERT_LT(draw, 1);
    sum += draw;
    least = std::min(least, draw);
    most = std::max(most, draw);
  }
  EXPECT_NEAR(sum / count, 0.5, 5 * std::sqrt(1.0 / 12 / count));  // five standard errors
  EXPECT_LT(least, 1e-3);
  EXPECT_GT(most, 1 - 1e-3);
}

TEST(Random, UniformOverAnIntervalStaysInIt) {
  Random random(1, 2);
  for (int i = 0; i < 1000; ++i) {
    const double draw = random.uniform(-2, 3);
    ASSERT_GE(draw, -2);
    ASSERT_LT(draw, 3);
  }
}

TEST(Random, IndexHitsEveryValueAboutEquallyOften) {
  Random random(3, 4);
  std::array<int, 7> hits{};
  constexpr int count = 70'000;
  for (int i = 0; i < count; ++i) ++hits.at(random.index(hits.size()));
  // Chi square with 6 degrees of freedom: 22.5 is passed once in a thousand seeds; this is one.
  double chi_square = 0;
  for (const int hit : hits) chi_square += std::pow(hit - count / 7.0, 2) / (count / 7.0);
  EXPECT_LT(chi_square, 22.5);
  EXPECT_EQ(random.index(1), 0U);
}

TEST(Random, CoinFallsWithItsProbability) {
  Random random(5, 6);
  int heads = 0;
  constexpr int count = 40'000;
  for (int i = 0; i < count; ++i) heads += random.coin(0.3) ? 1 : 0;
  EXPECT_NEAR(heads, 0.3 * count, 5 * std::sqrt(0.21 * count));
  EXPECT_FALSE(random.coin(0));
  EXPECT_TRUE(random.coin(1));
}

TEST(Random, NormalHasItsFirstFourMoments) {
  Random random(7, 8);
  constexpr int count = 200'000;
  std::array<double, 4> moments{};
  for (int i = 0; i < count; ++i) {
    const double draw = random.normal();
    for (int power = 0; power < 4; ++power) moments.at(power) += std::pow(draw, power + 1) / count;
  }
  // Five standard errors of each: variances of x, x^2, x^3, x^4 are 1, 2, 15, 96.
  EXPECT_NEAR(moments[0], 0, 5 * std::sqrt(1.0 / count));
  EXPECT_NEAR(moments[1], 1, 5 * std::sqrt(2.0 / count));
  EXPECT_NEAR(moments[2], 0, 5 * std::sqrt(15.0 / count));
  EXPECT_NEAR(moments[3], 3, 5 * std::sqrt(96.0 / count));
}

TEST(Random, ShufflePermutesAndReachesEveryOrder) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t sequence = 0; sequence < 200; ++sequence) {
    std::vector<int> values{1, 2, 3};
    Random(9, 10, 0, sequence).shuffle(std::span(values));
    orders.insert(values);
    std::ranges::sort(values);
    ASSERT_EQ(values, (std::vector<int>{1, 2, 3}));
  }
  EXPECT_EQ(orders.size(), 6U);
}

}  // namespace seam::random_test
