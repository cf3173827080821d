#include "stages/retrieval/ranking_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace seam::stages {
namespace ranking_metrics_test {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(RankingMetrics, OfOneQueryByHand) {
  RankingMetrics metrics({1, 3, 5});
  metrics.add({0, 3}, 3);  // hits at ranks 1 and 4 of three relevant
  const RankingMeans means = metrics.means();
  EXPECT_THAT(means.ir_recall, ElementsAre(DoubleEq(1. / 3), DoubleEq(1. / 3), DoubleEq(2. / 3)));
  EXPECT_THAT(means.precision, ElementsAre(DoubleEq(1), DoubleEq(1. / 3), DoubleEq(2. / 5)));
  EXPECT_THAT(means.precision_capped, ElementsAre(DoubleEq(1), DoubleEq(1. / 3), DoubleEq(2. / 3)));
  EXPECT_THAT(means.map_relevant, ElementsAre(DoubleEq(1. / 3), DoubleEq(1. / 3), DoubleEq(0.5)));
  EXPECT_THAT(means.map_capped, ElementsAre(DoubleEq(1), DoubleEq(1. / 3), DoubleEq(0.5)));
  EXPECT_THAT(means.map_found, ElementsAre(DoubleEq(1), DoubleEq(1), DoubleEq(0.75)));
}

TEST(RankingMetrics, AreMeansOverQueriesThoseWithoutAHitIncluded) {
  RankingMetrics metrics({2});
  metrics.add({0, 1}, 2);
  metrics.add({}, 4);
  metrics.add({1}, 1);
  metrics.add({}, 0);
  const RankingMeans means = metrics.means();
  EXPECT_DOUBLE_EQ(means.ir_recall[0], (1. + 0 + 1) / 4);
  EXPECT_DOUBLE_EQ(means.precision[0], (1. + 0 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(means.precision_capped[0], (1. + 0 + 1) / 4);
  EXPECT_DOUBLE_EQ(means.map_relevant[0], (1. + 0 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(means.map_capped[0], (1. + 0 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(means.map_found[0], (1. + 0 + 0.5) / 4);
}

TEST(RankingMetrics, HitsBeyondKDoNotCount) {
  RankingMetrics metrics({2});
  metrics.add({2, 3, 4}, 3);
  const RankingMeans means = metrics.means();
  EXPECT_THAT(means.ir_recall, Each(0));
  EXPECT_THAT(means.map_found, Each(0));
}

TEST(RankingMetrics, OfNoQueryAreZero) {
  EXPECT_THAT(RankingMetrics({1, 2}).means().precision, ElementsAre(0, 0));
}

}  // namespace ranking_metrics_test
}  // namespace seam::stages
