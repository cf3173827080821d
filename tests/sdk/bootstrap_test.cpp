#include "seam/bootstrap.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace seam::bootstrap_test {

std::vector<ClusterSums> items_of(const std::vector<double>& hits, std::int64_t queries) {
  std::vector<ClusterSums> items;
  for (const double hit : hits) items.push_back({queries, {hit, static_cast<double>(queries)}});
  return items;
}

TEST(Bootstrap, AgreesWithTheNormalApproximation) {
  // 1,000 items of one query, half of them found: a mean of 0.5 with a standard error of 0.0158.
  std::vector<double> hits;
  for (int i = 0; i < 1000; ++i) hits.push_back(i % 2);
  const auto intervals = bootstrap_intervals(items_of(hits, 1));
  ASSERT_EQ(intervals.size(), 2U);
  EXPECT_NEAR(intervals[0].low, 0.5 - 1.96 * 0.0158, 0.004);
  EXPECT_NEAR(intervals[0].high, 0.5 + 1.96 * 0.0158, 0.004);
  EXPECT_EQ(intervals[1].low, 1);  // all were found
  EXPECT_EQ(intervals[1].high, 1);
}

TEST(Bootstrap, ItemsAreDrawnWhole) {
  // 100 items whose ten queries all succeed or all fail: ten times the queries, the same interval.
  std::vector<double> one;
  std::vector<double> ten;
  for (int i = 0; i < 100; ++i) {
    one.push_back(i % 2);
    ten.push_back(10 * (i % 2));
  }
  const auto of_one = bootstrap_intervals(items_of(one, 1));
  const auto of_ten = bootstrap_intervals(items_of(ten, 10));
  EXPECT_DOUBLE_EQ(of_one[0].low, of_ten[0].low);
  EXPECT_DOUBLE_EQ(of_one[0].high, of_ten[0].high);
  EXPECT_GT(of_one[0].high - of_one[0].low, 0.15);
}

TEST(Bootstrap, IsTheSameEachTime) {
  const auto items = items_of({0, 1, 2, 2, 0, 1, 1}, 2);
  const auto first = bootstrap_intervals(items);
  const auto second = bootstrap_intervals(items);
  EXPECT_EQ(first[0].low, second[0].low);
  EXPECT_EQ(first[0].high, second[0].high);
}

TEST(Bootstrap, OneItemSaysNothingAboutOthers) {
  EXPECT_TRUE(bootstrap_intervals({}).empty());
  EXPECT_TRUE(bootstrap_intervals(items_of({1}, 4)).empty());
  std::vector<ClusterSums> items = items_of({1}, 4);
  items.push_back({0, {0, 0}});  // for a query that was left out
  EXPECT_TRUE(bootstrap_intervals(items).empty());
}

}  // namespace seam::bootstrap_test
