#include "pipeline/run/tensorboard_log.hpp"

#include <cmath>
#include <limits>

#include "tests/support/matchers.hpp"

namespace seam::host::tensorboard_log_test {

TEST(ScalarsOf, AMetricOfEachStepStandsAtItsStep) {
  EXPECT_THAT(
      scalars_of({{"loss", "loss", {3, 2, 1}}, {"adam", "rate", {0.1, 0.2, 0.3}}}, "train", 64, 3),
      ElementsAre(ScalarsAtStep{65, {{"train/loss.loss", 3}, {"train/adam.rate", 0.1}}},
                  ScalarsAtStep{66, {{"train/loss.loss", 2}, {"train/adam.rate", 0.2}}},
                  ScalarsAtStep{67, {{"train/loss.loss", 1}, {"train/adam.rate", 0.3}}}));
}

TEST(ScalarsOf, AnEvaluationStandsAtTheStepsThatWereDone) {
  EXPECT_THAT(
      scalars_of({{"recall", "r@1", {0.5}}, {"loss", "loss", {1, 2, 6}}}, "evaluate", 64, 0),
      ElementsAre(ScalarsAtStep{64, {{"evaluate/recall.r@1", 0.5}, {"evaluate/loss.loss", 3}}}));
}

TEST(ScalarsOf, AMetricThatIsNotOfEachStepIsSpread) {
  EXPECT_THAT(scalars_of({{"adam", "rate", {1, 2}}}, "train", 10, 4),
              ElementsAre(ScalarsAtStep{12, {{"train/adam.rate", 1}}},
                          ScalarsAtStep{14, {{"train/adam.rate", 2}}}))
      << "of every second step";
  EXPECT_THAT(scalars_of({{"sampler", "hardness", {1, 3, 5, 7, 9}}}, "train", 0, 2),
              ElementsAre(ScalarsAtStep{1, {{"train/sampler.hardness", 2}}},
                          ScalarsAtStep{2, {{"train/sampler.hardness", 7}}}))
      << "of each item: the means";
  EXPECT_THAT(scalars_of({{"sampler", "left_out", {8}}}, "train", 0, 5),
              ElementsAre(ScalarsAtStep{5, {{"train/sampler.left_out", 8}}}));
  EXPECT_THAT(scalars_of({{"augment", "angle", {1, 2, 3}, false}}, "train", 0, 3),
              ElementsAre(ScalarsAtStep{3, {{"train/augment.angle", 2}}}))
      << "what many threads recorded has no order";
}

TEST(ScalarsOf, WhatIsNotFiniteStays) {
  const auto scalars = scalars_of(
      {{"loss", "loss", {std::nan(""), -std::numeric_limits<double>::infinity()}}}, "train", 0, 2);
  ASSERT_EQ(scalars.size(), 2U);
  EXPECT_TRUE(std::isnan(scalars[0].scalars[0].value));
  EXPECT_EQ(scalars[1].scalars[0].value, -std::numeric_limits<double>::infinity());
}

TEST(ScalarsOf, TheOpeningHasNoFlow) {
  EXPECT_THAT(scalars_of({{"items", "images", {7}}}, "", 0, 0),
              ElementsAre(ScalarsAtStep{0, {{"items.images", 7}}}));
  EXPECT_THAT(scalars_of({}, "train", 0, 3), IsEmpty());
}

TEST(ScalarsOf, TagsAreUtf8) {
  const auto scalars = scalars_of({{"loss", "caf\xE9", {1}}}, "train", 0, 1);
  EXPECT_EQ(scalars[0].scalars[0].tag, "train/loss.caf\xEF\xBF\xBD");
}

}  // namespace seam::host::tensorboard_log_test
