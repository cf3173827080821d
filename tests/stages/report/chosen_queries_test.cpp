#include "stages/report/chosen_queries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chosen_queries_test {

using seam::Random;
using seam::stages::AskedQuery;
using seam::stages::choose_queries;
using seam::stages::QueryGroup;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AskedQuery query(std::int64_t first_right, float distance, std::int64_t category = 0) {
  AskedQuery query;
  query.category = category;
  query.relevant = 1;
  query.first_right = first_right;
  query.nearest = {{0, distance, first_right == 1}};
  return query;
}

std::vector<QueryGroup> chosen(const std::vector<AskedQuery>& queries,
                               const seam::stages::QueryChoice& choice) {
  return choose_queries(queries, choice, Random(7, 1));
}

TEST(ChooseQueries, TheBestAndTheSurestMistakes) {
  const std::vector<AskedQuery> queries{query(1, 0.5F), query(1, 0.1F), query(3, 0.2F),
                                        query(0, 0.4F), query(0, 0.3F), query(9, 0.1F)};
  EXPECT_THAT(chosen(queries, {.best = 2, .worst = 3, .per_category = 0}),
              ElementsAre(QueryGroup{"Best", {1, 0}}, QueryGroup{"Worst", {4, 3, 5}}));
}

TEST(ChooseQueries, NeitherHasWhatCannotBeAnsweredNorOneTwice) {
  std::vector<AskedQuery> queries{query(1, 0.5F), query(0, 0.1F)};
  queries[1].relevant = 0;
  EXPECT_THAT(chosen(queries, {.best = 4, .worst = 4, .per_category = 0}),
              ElementsAre(QueryGroup{"Best", {0}}));
  EXPECT_THAT(chosen({}, {}), IsEmpty());
}

TEST(ChooseQueries, SamplesTheLargestCategoriesTheSameWayWhateverWasFound) {
  std::vector<AskedQuery> queries;
  for (int i = 0; i < 60; ++i) queries.push_back(query(1, 0.1F, i < 50 ? i % 2 : 5));
  const auto first = chosen(queries, {.best = 0, .worst = 0, .per_category = 3, .categories = 2});
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].title, "Category 0, at random");
  EXPECT_EQ(first[1].title, "Category 1, at random");
  EXPECT_EQ(chosen(queries, {.best = 0, .worst = 0, .per_category = 3, .names = {"Dresses"}})
                .front()
                .title,
            "Dresses, at random");
  EXPECT_THAT(first[0].queries, SizeIs(3));
  for (AskedQuery& each : queries) each.first_right = 0;
  EXPECT_EQ(chosen(queries, {.best = 0, .worst = 0, .per_category = 3, .categories = 2}), first);
}

TEST(ChooseQueries, WithoutCategoriesThereIsOneSample) {
  const std::vector<AskedQuery> queries(5, query(1, 0.1F, -1));
  const auto groups = chosen(queries, {.best = 0, .worst = 0, .per_category = 9});
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(groups[0].title, "At random");
  EXPECT_THAT(groups[0].queries, SizeIs(5));
}

}  // namespace chosen_queries_test
