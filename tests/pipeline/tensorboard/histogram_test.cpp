#include "pipeline/tensorboard/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::host::tensorboard::histogram_test {

template <class T>
Archive::Entry entry_of(const std::string& type, const std::vector<T>& values) {
  Archive::Entry entry{type,
                       {static_cast<std::int64_t>(values.size())},
                       std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(entry.bytes.data(), values.data(), entry.bytes.size());
  return entry;
}

TEST(Histogram, CountsEveryValueOnce) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(1, 2);
  std::vector<float> values(10'000);
  for (float& value : values) value = normal(random);
  const Histogram histogram = histogram_of(entry_of("f32", values));
  ASSERT_EQ(histogram.buckets.size(), 64U);
  ASSERT_EQ(histogram.limits.size(), 64U);
  EXPECT_EQ(histogram.count, 10'000);
  EXPECT_EQ(histogram.least, *std::ranges::min_element(values));
  EXPECT_EQ(histogram.greatest, *std::ranges::max_element(values));
  EXPECT_EQ(histogram.limits.back(), histogram.greatest);
  EXPECT_TRUE(std::ranges::is_sorted(histogram.limits));
  EXPECT_EQ(std::accumulate(histogram.buckets.begin(), histogram.buckets.end(), 0.0), 10'000);
  // Independently: how many values are at most the limit. A value on a limit may be on either side.
  double below = 0;
  for (std::size_t bucket = 0; bucket < 64; ++bucket) {
    below += histogram.buckets[bucket];
    const auto counted = std::ranges::count_if(
        values, [&](float value) { return value <= histogram.limits[bucket]; });
    EXPECT_NEAR(below, static_cast<double>(counted), 1) << bucket;
  }
  EXPECT_NEAR(histogram.sum / 10'000, 1, 0.1);
  EXPECT_NEAR(histogram.sum_of_squares / 10'000, 5, 0.3);
}

TEST(Histogram, OfHandComputedValues) {
  const Histogram histogram =
      histogram_of(entry_of("f64", std::vector<double>{0, 64, 1, 63.5, 32}));
  EXPECT_EQ(histogram.buckets[0], 1);
  EXPECT_EQ(histogram.buckets[1], 1);
  EXPECT_EQ(histogram.buckets[32], 1);
  EXPECT_EQ(histogram.buckets[63], 2);
  EXPECT_EQ(histogram.limits[0], 1);
  EXPECT_EQ(histogram.sum, 160.5);
  EXPECT_EQ(histogram.sum_of_squares, 64 * 64 + 1 + 63.5 * 63.5 + 32 * 32);
}

TEST(Histogram, OfEqualValuesHasOneBucket) {
  for (const double value : {0.0, -3.5, 1e300, std::numeric_limits<double>::denorm_min()}) {
    const Histogram histogram = histogram_of(entry_of("f64", std::vector<double>{value, value}));
    EXPECT_THAT(histogram.buckets, ElementsAre(2)) << value;
    EXPECT_THAT(histogram.limits, ElementsAre(value));
  }
}

TEST(Histogram, OfNeighbouringNumbersHasNoEmptyLimits) {
  const double next = std::nextafter(1.0, 2.0);
  const Histogram histogram = histogram_of(entry_of("f64", std::vector<double>{1, next}));
  EXPECT_THAT(histogram.buckets, ElementsAre(2));
  EXPECT_EQ(histogram.least, 1);
  EXPECT_EQ(histogram.greatest, next);
}

TEST(Histogram, OfTheWidestRangeDoesNotOverflow) {
  constexpr double most = std::numeric_limits<double>::max();
  const Histogram histogram = histogram_of(entry_of("f64", std::vector<double>{-most, most, 0}));
  EXPECT_EQ(histogram.buckets.front(), 1);
  EXPECT_EQ(histogram.buckets[32], 1);
  EXPECT_EQ(histogram.buckets.back(), 1);
  for (const double limit : histogram.limits) EXPECT_TRUE(std::isfinite(limit));
}

TEST(Histogram, LeavesOutWhatIsNotFiniteAndCountsIt) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Histogram histogram =
      histogram_of(entry_of("f32", std::vector<float>{std::nanf(""), 1, infinity, 2, -infinity}));
  EXPECT_EQ(histogram.not_finite, 3U);
  EXPECT_EQ(histogram.count, 2);
  EXPECT_EQ(histogram.greatest, 2);
}

TEST(Histogram, OfNothing) {
  for (const std::vector<float>& values :
       {std::vector<float>{}, std::vector<float>{std::nanf(""), std::nanf("")}}) {
    const Histogram histogram = histogram_of(entry_of("f32", values));
    EXPECT_EQ(histogram.count, 0);
    EXPECT_EQ(histogram.not_finite, values.size());
    EXPECT_THAT(histogram.buckets, IsEmpty());
  }
}

TEST(Histogram, ReadsHalfPrecision) {
  EXPECT_EQ(from_half(0x3C00), 1.0F);
  EXPECT_EQ(from_half(0xC000), -2.0F);
  EXPECT_EQ(from_half(0x7BFF), 65504.0F);
  EXPECT_EQ(from_half(0x3555), 0.333251953125F);
  EXPECT_EQ(from_half(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(from_half(0x03FF), std::ldexp(1023.0F, -24));
  EXPECT_EQ(from_half(0x0400), std::ldexp(1.0F, -14));
  EXPECT_EQ(from_half(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from_half(0x7E00)));
  EXPECT_TRUE(std::signbit(from_half(0x8000)));
  const Histogram half = histogram_of(entry_of("f16", std::vector<std::uint16_t>{0x3C00, 0xC000}));
  EXPECT_EQ(half.least, -2);
  EXPECT_EQ(half.greatest, 1);
  // bfloat16: 1.0 and -2.5
  const Histogram brain =
      histogram_of(entry_of("bf16", std::vector<std::uint16_t>{0x3F80, 0xC020}));
  EXPECT_EQ(brain.least, -2.5);
  EXPECT_EQ(brain.greatest, 1);
}

TEST(Histogram, IsOfNumbersWithAFraction) {
  for (const char* type : {"f64", "f32", "f16", "bf16"}) EXPECT_TRUE(has_histogram(type));
  for (const char* type : {"i64", "i32", "u8", "bool", "text", "Char", ""}) {
    EXPECT_FALSE(has_histogram(type)) << type;
  }
}

}  // namespace seam::host::tensorboard::histogram_test
