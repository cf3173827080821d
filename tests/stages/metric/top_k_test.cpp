#include "stages/metric/top_k.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <seam/error.hpp>
#include <string>
#include <vector>

namespace seam::stages {
namespace top_k_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.full_message();
  }
  return "no error";
}

TEST(TopK, FivePicturesByHand) {
  TopKCounter counter({2, 1, 2}, 3);
  counter.add(std::array{0.7F, 0.2F, 0.1F}, 0);  // first
  counter.add(std::array{0.7F, 0.2F, 0.1F}, 1);  // second
  counter.add(std::array{0.7F, 0.2F, 0.1F}, 2);  // third
  counter.add(std::array{0.1F, 0.2F, 0.3F}, 2);  // first
  counter.add(std::array{0.3F, 0.2F, 0.1F}, 2);  // third
  const AccuracyResult result = counter.result();
  EXPECT_THAT(result.ks, ElementsAre(1, 2));
  EXPECT_EQ(result.images, 5);
  EXPECT_THAT(result.accuracy, ElementsAre(0.4, 0.6));
  EXPECT_EQ(result.optimistic, result.accuracy);
  EXPECT_EQ(result.pessimistic, result.accuracy);
  EXPECT_DOUBLE_EQ(result.standard_error[0], std::sqrt(0.4 * 0.6 / 5));
  ASSERT_EQ(result.by_class.size(), 3U);
  EXPECT_THAT(result.by_class[0].accuracy, ElementsAre(1, 1));
  EXPECT_EQ(result.by_class[0].most_taken_for, -1);
  EXPECT_THAT(result.by_class[1].accuracy, ElementsAre(0, 1));
  EXPECT_EQ(result.by_class[2].images, 3);
  EXPECT_DOUBLE_EQ(result.by_class[2].accuracy[0], 1.0 / 3);
  EXPECT_EQ(result.by_class[2].most_taken_for, 0);
  EXPECT_EQ(result.by_class[2].taken_for_it, 2);
}

TEST(TopK, EqualScoresAreNoHundredPercent) {
  TopKCounter counter({1}, 4);
  for (const std::int64_t label : {0, 1, 2, 3}) {
    counter.add(std::array{0.5F, 0.5F, 0.5F, 0.5F}, label);
  }
  const AccuracyResult result = counter.result();
  EXPECT_EQ(result.accuracy[0], 0.25);
  EXPECT_EQ(result.optimistic[0], 1);
  EXPECT_EQ(result.pessimistic[0], 0);
}

TEST(TopK, InfiniteScoresAreRanked) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  TopKCounter counter({1}, 2);
  counter.add(std::array{-infinity, 0.F}, 1);
  counter.add(std::array{-infinity, infinity}, 1);
  EXPECT_EQ(counter.result().accuracy[0], 1);
}

TEST(TopK, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(error_of([] { TopKCounter({}, 3); }), HasSubstr("at least one k"));
  EXPECT_THAT(error_of([] { TopKCounter({0}, 3); }), HasSubstr("each 1 or more"));
  EXPECT_THAT(error_of([] { TopKCounter({1, 3}, 3); }), HasSubstr("lower 'k'"));
  TopKCounter counter({1}, 3);
  const std::array scores{0.1F, 0.2F, 0.3F};
  EXPECT_THAT(error_of([&] { counter.add(scores, 3); }), HasSubstr("has category 3"));
  EXPECT_THAT(error_of([&] { counter.add(scores, -1); }), HasSubstr("has no category"));
  EXPECT_THAT(error_of([&] {
                counter.add(std::array{0.1F, 0.2F}, 0);
              }),
              HasSubstr("for 2 classes"));
  const std::array damaged{0.1F, std::nanf(""), 0.3F};
  EXPECT_THAT(error_of([&] { counter.add(damaged, 0); }),
              HasSubstr("NaN for the score of class 1"));
  EXPECT_THAT(error_of([&] { static_cast<void>(counter.result()); }), HasSubstr("no image"));
}

TEST(TopK, WilsonsIntervalAgreesWithPublishedValues) {
  // R. G. Newcombe, Statistics in Medicine 1998, table I, method 3.
  const Interval many = wilson_interval(81.0 / 263, 263);
  EXPECT_NEAR(many.low, 0.2553, 5e-5);
  EXPECT_NEAR(many.high, 0.3662, 5e-5);
  const Interval few = wilson_interval(0, 20);
  EXPECT_NEAR(few.low, 0, 5e-5);
  EXPECT_NEAR(few.high, 0.1611, 5e-5);
}

}  // namespace top_k_test
}  // namespace seam::stages
