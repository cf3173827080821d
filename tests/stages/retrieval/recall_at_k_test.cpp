#include "stages/retrieval/recall_at_k.hpp"

#include <algorithm>
#include <cmath>
#include <seam/error.hpp>
#include <vector>

#include "stages/retrieval/exact_search.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::recall_at_k_test {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Each;

using Numbers = std::vector<std::int64_t>;

/// Searches and counts; leave-one-out if `excluded` is given.
RecallResult evaluate(const torch::Tensor& queries, const Numbers& query_item,
                      const torch::Tensor& gallery, const Numbers& gallery_item, const Numbers& ks,
                      const Numbers& excluded = {}, std::int64_t k = 0) {
  RecallCounter counter(ks);
  SearchOptions options;
  options.k = k > 0 ? k : counter.largest_k();
  options.query_item = query_item;
  options.gallery_item = gallery_item;
  options.excluded_row = excluded;
  const Neighbours found = ExactIndex(gallery, Metric::squared_euclidean).search(queries, options);
  for (std::size_t q = 0; q < query_item.size(); ++q) {
    Numbers items;
    const auto width = static_cast<std::size_t>(found.k);
    for (std::size_t n = 0; n < width; ++n) {
      const std::int64_t row = found.rows[q * width + n];
      items.push_back(row < 0 ? -1 : gallery_item[row]);
    }
    RankedQuery query;
    query.items = items;
    query.distances = std::span(found.distances).subspan(q * width, width);
    query.tied_beyond = found.tied_beyond[q];
    query.tied_beyond_relevant = found.tied_beyond_relevant[q];
    query.item = query_item[q];
    query.relevant = std::ranges::count(gallery_item, query_item[q]) - (excluded.empty() ? 0 : 1);
    counter.add(query);
  }
  return counter.result();
}

// Six images on a line, leave-one-out:
//
//     position  0    1    3    4    8    20
//     item      A    B    A    A    B    C       (C is alone)
//
// Ranked lists, by hand (distance on the line; no ties):
//     0:A  1B 3A 4A 8B 20C       R = 2   hits at 2, 3
//     1:B  0A 3A 4A 8B 20C       R = 1   hit at 4
//     3:A  4A 1B 0A 8B 20C       R = 2   hits at 1, 3
//     4:A  3A 1B 0A|8B 20C       R = 2   0A and 8B tie at distance 4; 0A has the smaller row
//     8:B  4A 3A 1B 0A 20C       R = 1   hit at 3
//     20:C                        lone
const torch::Tensor& line() {
  static const torch::Tensor positions =
      torch::tensor({0.F, 1.F, 3.F, 4.F, 8.F, 20.F}).add(100).view({6, 1});
  return positions;
}
const Numbers line_items{0, 1, 0, 0, 1, 2};
const Numbers line_itself{0, 1, 2, 3, 4, 5};

TEST(RecallAtK, AgreesWithSixImagesByHand) {
  const RecallResult result =
      evaluate(line(), line_items, line(), line_items, {1, 2, 3, 4}, line_itself);
  EXPECT_EQ(result.queries, 6);
  EXPECT_EQ(result.lone_queries, 1);
  EXPECT_EQ(result.query_items, 3);
  // Of five counted queries: first hits at ranks 2, 4, 1, 1, 3.
  EXPECT_THAT(result.recall,
              ElementsAre(DoubleEq(2. / 5), DoubleEq(3. / 5), DoubleEq(4. / 5), 1.0));
  EXPECT_THAT(result.optimistic, ElementsAre(DoubleEq(.4), DoubleEq(.6), DoubleEq(.8), 1.0));
  EXPECT_THAT(result.pessimistic, result.optimistic);  // the tie comes after a hit
  // Relevant among the first 1, 2, 3, 4: 2, 3, 7, 8 in all.
  EXPECT_THAT(result.ranking.precision, ElementsAre(DoubleEq(2. / 5), DoubleEq(3. / 10),
                                                    DoubleEq(7. / 15), DoubleEq(8. / 20)));
  EXPECT_THAT(result.mrr.value, DoubleNear((1. / 2 + 1. / 4 + 1 + 1 + 1. / 3) / 5, 1e-15));
  // R-precision: 1/2, 0, 1/2, 1/2, 0.   MAP@R: (1/2)/2, 0, 1/2, 1/2, 0.
  EXPECT_THAT(result.r_precision.value().value, DoubleNear(1.5 / 5, 1e-15));
  EXPECT_THAT(result.map_at_r.value().value, DoubleNear(1.25 / 5, 1e-15));
  // By item at K = 1: A has 2 of 3, B 0 of 2, the mean is 0.4: deviations 0.8 and -0.8.
  EXPECT_THAT(result.standard_error[0], DoubleNear(std::sqrt(2 * 0.64) / 5, 1e-12));
}

/// The deviation of one item from the mean is 0, which shows nothing. A lone query is not scored.
TEST(RecallAtK, OfOneItemHasNoStandardError) {
  RecallCounter counter({1});
  const std::vector<float> distance{0.5F};
  for (const std::int64_t found : {7, 8}) {
    const Numbers items{found};
    RankedQuery query;
    query.items = items;
    query.distances = distance;
    query.item = 7;
    query.relevant = 1;
    counter.add(query);
    query.item = 9;
    query.relevant = 0;
    counter.add(query);
  }
  const RecallResult result = counter.result();
  EXPECT_THAT(result.recall, ElementsAre(0.5));
  EXPECT_EQ(result.query_items, 2);
  EXPECT_THAT(result.standard_error, ::testing::IsEmpty());
  EXPECT_FALSE(result.mrr_uncertainty.standard_error.has_value());
}

TEST(RecallAtK, LoneQueriesCanCountAsMissed) {
  RecallCounter counter({1}, LoneQueries::miss);
  const Numbers right{7};
  const std::vector<float> distance{0.5F};
  RankedQuery query;
  query.items = right;
  query.distances = distance;
  query.item = 7;
  query.relevant = 1;
  counter.add(query);
  query.item = 8;
  query.relevant = 0;
  counter.add(query);
  EXPECT_THAT(counter.result().recall, ElementsAre(0.5));
  EXPECT_EQ(counter.result().lone_queries, 1);
}

TEST(RecallAtK, ConstantEmbeddingsScoreChanceNotAHundredPercent) {
  // 60 items of 4 images each side. All are tied, so the first rows of the gallery come first for
  // every query: at K = 10 ten different items.
  Numbers items;
  for (std::int64_t i = 0; i < 240; ++i) items.push_back(i * 7 % 60);
  const torch::Tensor constant = torch::ones({240, 32});
  const RecallResult result = evaluate(constant, items, constant, items, {1, 10});
  EXPECT_DOUBLE_EQ(result.recall[0], 1. / 60);
  EXPECT_DOUBLE_EQ(result.recall[1], 10. / 60);
  EXPECT_THAT(result.optimistic, Each(1.0));  // which is why the bounds are printed
  EXPECT_THAT(result.pessimistic, Each(0.0));
}

TEST(RecallAtK, OneHotItemsScoreAHundredPercent) {
  Numbers items;
  for (std::int64_t i = 0; i < 120; ++i) items.push_back(i % 40);
  const torch::Tensor one_hot =
      torch::one_hot(torch::tensor(items, torch::kInt64), 40).to(torch::kFloat32);
  const RecallResult result = evaluate(one_hot, items, one_hot, items, {1, 5});
  EXPECT_THAT(result.recall, Each(1.0));
  EXPECT_THAT(result.pessimistic, Each(1.0));
  EXPECT_THAT(result.r_precision.value().value, 1.0);
  EXPECT_THAT(result.map_at_r.value().value, 1.0);
  EXPECT_THAT(result.standard_error, Each(0.0));
}

TEST(RecallAtK, BoundsSayWhatTiesCouldHaveDone) {
  // Gallery at distance 1, 1, 1, 2 from the query; the relevant image is the last of the tie.
  const torch::Tensor gallery = torch::tensor({2.F, 2.F, 2.F, 3.F}).view({4, 1});
  const torch::Tensor query = torch::ones({1, 1});
  const Numbers items{5, 6, 7, 8};
  for (const std::int64_t k : {3, 4}) {  // whether or not the tie is cut off by k = 2
    const RecallResult result = evaluate(query, {7}, gallery, items, {1, 2}, {}, k);
    EXPECT_THAT(result.recall, ElementsAre(0.0, 0.0));
    EXPECT_THAT(result.optimistic, ElementsAre(1.0, 1.0));
    EXPECT_THAT(result.pessimistic, ElementsAre(0.0, 0.0));
  }
  const RecallResult cut = evaluate(query, {7}, gallery, items, {1, 2});
  EXPECT_THAT(cut.optimistic, ElementsAre(1.0, 1.0));
  EXPECT_THAT(cut.pessimistic, ElementsAre(0.0, 0.0));
  const RecallResult found = evaluate(query, {5}, gallery, items, {1, 3});
  EXPECT_THAT(found.recall, ElementsAre(1.0, 1.0));
  EXPECT_THAT(found.pessimistic, ElementsAre(0.0, 1.0));  // three tie, so among three it must be
  const RecallResult beyond = evaluate(query, {8}, gallery, items, {2});
  EXPECT_THAT(beyond.optimistic, ElementsAre(0.0));  // the tie at the cut holds nothing relevant
}

TEST(RecallAtK, QueriesOfWhichNoneCanBeScoredHaveNoRecall) {
  for (const LoneQueries policy : {LoneQueries::leave_out, LoneQueries::miss}) {
    RecallCounter counter({1}, policy);
    EXPECT_REFUSED(static_cast<void>(counter.result()), Fault::data, "no query was received");
    const Numbers other{3};
    const std::vector<float> distance{0.5F};
    RankedQuery query;
    query.items = other;
    query.distances = distance;
    query.item = -2;
    counter.add(query);
    EXPECT_REFUSED(static_cast<void>(counter.result()), Fault::data, "no item of the 1 query");
  }
}

/// Every order of the ties, the slow way: of queries and gallery on a coarse grid.
TEST(RecallAtK, BoundsOfRankMetricsAreTheBestAndWorstOrderOfTies) {
  // Five images at distance 1, 1, 2, 2, 2 of items 7, 8, 8, 7, 9; the query shows 7.
  const torch::Tensor query = torch::zeros({1, 1});
  const std::vector<float> positions{1, 1, 2, 2, 2};
  Numbers items{7, 8, 8, 7, 9};
  const torch::Tensor gallery = torch::tensor(positions).view({5, 1});
  const auto measured = [&](const Numbers& order, std::int64_t k) {
    return evaluate(query, {7}, gallery, order, {2}, {}, k);
  };
  struct Extreme {
    double least = 2;
    double most = -1;
    void add(double value) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
  };
  Extreme map;
  Extreme precision;
  Extreme mrr;
  Numbers near(items.begin(), items.begin() + 2);
  std::ranges::sort(near);
  do {
    Numbers far(items.begin() + 2, items.end());
    std::ranges::sort(far);
    do {
      Numbers order = near;
      order.insert(order.end(), far.begin(), far.end());
      const RecallResult result = measured(order, 5);
      map.add(result.map_at_r.value().value);
      precision.add(result.r_precision.value().value);
      mrr.add(result.mrr.value);
    } while (std::ranges::next_permutation(far).found);
  } while (std::ranges::next_permutation(near).found);
  for (const std::int64_t k : {3, 4, 5}) {  // whether or not the search cuts the second tie off
    const RecallResult result = measured(items, k);
    EXPECT_DOUBLE_EQ(result.map_at_r.value().pessimistic, map.least) << k;
    EXPECT_DOUBLE_EQ(result.map_at_r.value().optimistic, map.most) << k;
    EXPECT_DOUBLE_EQ(result.r_precision.value().pessimistic, precision.least) << k;
    EXPECT_DOUBLE_EQ(result.r_precision.value().optimistic, precision.most) << k;
    EXPECT_DOUBLE_EQ(result.mrr.pessimistic, mrr.least) << k;
    EXPECT_DOUBLE_EQ(result.mrr.optimistic, mrr.most) << k;
  }
}

TEST(RecallAtK, MrrLooksAsFarAsTheLargestKHoweverFarTheSearchDid) {
  const torch::Tensor gallery = torch::tensor({1.F, 2.F, 3.F, 4.F}).view({4, 1});
  const torch::Tensor query = torch::zeros({1, 1});
  for (const std::int64_t k : {2, 3, 4}) {
    EXPECT_EQ(evaluate(query, {9}, gallery, {6, 7, 9, 8}, {2}, {}, k).mrr.value, 0) << k;
  }
  EXPECT_DOUBLE_EQ(evaluate(query, {9}, gallery, {6, 7, 9, 8}, {3}).mrr.value, 1. / 3);
}

TEST(RecallAtK, MetricsThatLookFartherThanTheSearchAreLeftOut) {
  const torch::Tensor positions = torch::tensor({1.F, 2.F, 3.F}).view({3, 1});
  const RecallResult result = evaluate(positions, {0, 0, 0}, positions, {0, 0, 0}, {1}, {0, 1, 2});
  EXPECT_FALSE(result.r_precision);  // R = 2, k = 1
  EXPECT_FALSE(result.map_at_r);
}

TEST(RecallAtK, CountsByCategory) {
  RecallCounter counter({1});
  const std::vector<float> distance{0.5F};
  const Numbers found{1};
  for (const auto& [item, category] : std::vector<std::pair<int, int>>{{1, 0}, {2, 0}, {1, 3}}) {
    RankedQuery query;
    query.items = found;
    query.distances = distance;
    query.relevant = 1;
    query.item = item;
    query.category = category;
    counter.add(query);
  }
  const RecallResult result = counter.result();
  EXPECT_EQ(result.by_category.at(0).queries, 2);
  EXPECT_EQ(result.by_category.at(0).items, 2);
  EXPECT_EQ(result.by_category.at(3).items, 1);
  EXPECT_THAT(result.by_category.at(0).recall, ElementsAre(0.5));
  EXPECT_THAT(result.by_category.at(3).recall, ElementsAre(1.0));
}

TEST(RecallAtK, ChanceIsThatOfARandomOrder) {
  RecallCounter counter({1, 2});
  const std::vector<float> distances{0.5F, 0.6F};
  const Numbers found{1, 2};
  RankedQuery query;
  query.items = found;
  query.distances = distances;
  query.item = 1;
  query.searched = 10;
  query.relevant = 1;
  counter.add(query);
  query.relevant = 3;
  counter.add(query);
  const RecallResult result = counter.result();
  // 1/10 and 3/10; then 1 - 9/10 8/9 and 1 - 7/10 6/9.
  EXPECT_THAT(result.chance, ElementsAre(DoubleNear(0.2, 1e-15), DoubleNear(11. / 30, 1e-15)));
  query.searched = 0;
  counter.add(query);
  EXPECT_TRUE(counter.result().chance.empty());
}

TEST(RecallAtK, SortsKAndRefusesNonsense) {
  EXPECT_EQ(RecallCounter({10, 1, 10}).largest_k(), 10);
  EXPECT_REFUSED(RecallCounter({}), Fault::configuration, "at least one K");
  EXPECT_REFUSED(RecallCounter({0}), Fault::configuration, "at least one K, each 1 or more");
  RecallCounter counter({5});
  EXPECT_REFUSED(counter.add(RankedQuery{}), Fault::configuration,
                 "recall@5 needs as many neighbours, but the search found only 0");
}

TEST(Chance, AtTheSizesOfInShop) {
  // 12,612 images of 3,985 items: three of them a query's, on average.
  EXPECT_NEAR(chance_of_hit(12'612, 3, 10), 0.0024, 0.0001);
  EXPECT_NEAR(chance_of_hit(12'612, 3, 50), 0.0118, 0.0001);
}

TEST(Chance, AtTheEdges) {
  EXPECT_EQ(chance_of_hit(10, 0, 5), 0);
  EXPECT_EQ(chance_of_hit(10, 10, 1), 1);
  EXPECT_EQ(chance_of_hit(10, 1, 10), 1);
  EXPECT_EQ(chance_of_hit(10, 1, 500), 1);
  EXPECT_NEAR(chance_of_hit(10, 1, 9), 0.9, 1e-15);
}

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

}  // namespace seam::stages::recall_at_k_test
