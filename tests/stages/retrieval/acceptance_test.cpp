/// Properties that an evaluation must have before its results are trusted, beyond the tests of
/// single stages:
///
///     agreement with other libraries          here (accuracy_golden.hpp, oml_golden.hpp)
///     the gallery's order changes nothing     here, down to the report's text
///     confidence intervals and chance         here, through the stages
///     ties, duplicates, a hand-computed case  recall_at_k_test.cpp
///     threads, tiles, NaN, zero vectors       exact_search_test.cpp, training_test.cpp
///     leaky masks, counts, sizes              recall_report_test.cpp, recall_test.cpp
#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "stages/retrieval/gallery_items.hpp"
#include "tests/stages/retrieval/accuracy_golden.hpp"
#include "tests/stages/retrieval/batches.hpp"
#include "tests/stages/retrieval/oml_golden.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::acceptance_test {

using retrieval_test::batch;
using retrieval_test::Retrieval;
using retrieval_test::Texts;

Texts named(const std::vector<std::int64_t>& numbers) {
  Texts names;
  for (const std::int64_t number : numbers) names.push_back("item" + std::to_string(number));
  return names;
}

/// The stages have their parameters.
void evaluate(Retrieval& stages, const test::AccuracyGolden& golden) {
  const auto packet = [](const test::MadeUpImages& images) {
    return batch(0, named(images.items), images.embedding);
  };
  const Packet queries = packet(test::queries_of(golden));
  stages.index.push(golden.gallery == 0 ? queries : packet(test::gallery_of(golden))).finish();
  stages.evaluate({queries});
  ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
}

TEST(Acceptance, AgreesWithOpenMetricLearning) {
  ASSERT_EQ(test::oml_golden.size(), test::accuracy_golden.size());
  for (std::size_t i = 0; i < test::oml_golden.size(); ++i) {
    Retrieval stages;
    stages.search.set("k", 10).set("exclude_self", test::accuracy_golden[i].gallery == 0);
    stages.recall.set("k", std::vector<std::int64_t>{1, 3, 10}).set("ranking_metrics", true);
    evaluate(stages, test::accuracy_golden[i]);
    for (const test::OmlGolden& golden : test::oml_golden[i]) {
      const std::string at = "@" + std::to_string(golden.k);
      EXPECT_NEAR(stages.recall.metric("none.r" + at), golden.cmc, 1e-6);
      EXPECT_NEAR(stages.recall.metric("none.precision_capped" + at), golden.precision, 1e-6);
      EXPECT_NEAR(stages.recall.metric("none.map_found" + at), golden.map, 1e-6);
    }
  }
}

TEST(Acceptance, AgreesWithPytorchMetricLearning) {
  for (const test::AccuracyGolden& golden : test::accuracy_golden) {
    Retrieval stages;
    const bool one_list = golden.gallery == 0;
    const std::int64_t size = one_list ? golden.queries : golden.gallery;
    stages.search.set("k", size).set("exclude_self", one_list);
    stages.recall.set("k", std::vector<std::int64_t>{1, size}).set("ranking_metrics", true);
    evaluate(stages, golden);
    EXPECT_NEAR(stages.recall.metric("none.r@1"), golden.precision_at_1, 1e-6);
    EXPECT_NEAR(stages.recall.metric("none.r_precision"), golden.r_precision, 1e-6);
    EXPECT_NEAR(stages.recall.metric("none.map@r"), golden.map_at_r, 1e-6);
    const std::string all = "@" + std::to_string(size);
    EXPECT_NEAR(stages.recall.metric("none.mrr" + all), golden.mrr, 1e-6);
    // For K = 1, the nearest is a hit or not; for the whole gallery, everything is found.
    for (const char* metric :
         {"none.precision@1", "none.precision_capped@1", "none.map_capped@1"}) {
      EXPECT_NEAR(stages.recall.metric(metric), golden.precision_at_1, 1e-6) << metric;
    }
    EXPECT_DOUBLE_EQ(stages.recall.metric("none.ir_recall" + all), 1);
    EXPECT_DOUBLE_EQ(stages.recall.metric("none.map_found" + all),
                     stages.recall.metric("none.map_relevant" + all));
  }
}

struct Evaluated {
  std::map<std::string, std::vector<double>> metrics;
  std::string report;
};

/// Gallery images come as `order` says, each with its own index.
Evaluated evaluated_in_order(const std::vector<std::int64_t>& order) {
  torch::manual_seed(3);
  const auto count = static_cast<std::int64_t>(order.size());
  const Tensor gallery = torch::randn({count, 4}).round() + 8;  // with ties
  const Tensor queries = torch::randn({20, 4}).round() + 8;
  Retrieval stages({1, 5, 10});
  for (const std::int64_t image : order) {
    stages.index.push(
        batch(image, {"item" + std::to_string(image % 7)}, gallery[image].view({1, 4})));
  }
  stages.index.finish();
  Texts items;
  for (int i = 0; i < 20; ++i) items.push_back("item" + std::to_string(i % 7));
  stages.evaluate({batch(0, items, queries)});
  EXPECT_TRUE(stages.recall.errors().empty());
  return {stages.recall.metrics(), stages.recall.reports().at(0).text};
}

TEST(Acceptance, TheOrderOfTheGalleryChangesNothing) {
  std::vector<std::int64_t> order(42);
  std::iota(order.begin(), order.end(), 0);
  const Evaluated rising = evaluated_in_order(order);
  std::reverse(order.begin(), order.end());
  const Evaluated falling = evaluated_in_order(order);
  std::rotate(order.begin(), order.begin() + 17, order.end());
  const Evaluated rotated = evaluated_in_order(order);
  EXPECT_EQ(rising.metrics, falling.metrics);
  EXPECT_EQ(rising.metrics, rotated.metrics);
  EXPECT_EQ(rising.report, falling.report);
  EXPECT_EQ(rising.report, rotated.report);
}

TEST(Acceptance, IntervalsAndChanceStandInTheReport) {
  const std::vector<std::int64_t> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  Evaluated result = evaluated_in_order(order);
  EXPECT_THAT(result.report,
              AllOf(HasSubstr("| · 95 % interval | |"), HasSubstr("| · chance | |")));
  const double recall = result.metrics.at("none.r@1").back();
  EXPECT_LE(result.metrics.at("none.r@1.interval_low").back(), recall);
  EXPECT_GE(result.metrics.at("none.r@1.interval_high").back(), recall);
  EXPECT_DOUBLE_EQ(result.metrics.at("none.r@1.chance").back(), 2. / 14);  // two images an item
}

/// Images of two categories: a a b are of 0, b c c c of 1.
Packet of_two_categories() {
  Packet packet = batch(0, {"a", "a", "b", "b", "c", "c", "c"}, torch::rand({7, 4}) + 1);
  packet.set(field::categories, std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 1});
  packet.set(field::capsules, torch::rand({7, 2, 2}) + 1);
  return packet;
}

TEST(Acceptance, ChanceUnderTheTrueCategoryIsThatOfItsImages) {
  for (const bool leave_one_out : {false, true}) {
    Retrieval stages;
    stages.masks({"none", "ground_truth"});
    stages.search.set("k", 6).set("exclude_self", leave_one_out);
    stages.recall.set("k", std::vector<std::int64_t>{1, 2});
    stages.index.push(of_two_categories()).finish();
    stages.evaluate({of_two_categories()});
    ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
    // Each b is the only one in its category: leave-one-out has no other image of its item.
    const double one = leave_one_out ? (2 * 1 / 2. + 2 * 0 + 3 * 2 / 3.) / 7
                                     : (2 * 2 / 3. + 1 / 3. + 1 / 4. + 3 * 3 / 4.) / 7;
    const double two =
        leave_one_out ? (2 * 1 + 2 * 0 + 3 * 1) / 7. : (2 * 1 + 2 / 3. + 2 / 4. + 3 * 1) / 7;
    EXPECT_NEAR(stages.recall.metric("ground_truth.r@1.chance"), one, 1e-12);
    EXPECT_NEAR(stages.recall.metric("ground_truth.r@2.chance"), two, 1e-12);
    EXPECT_LT(stages.recall.metric("none.r@1.chance"), one);
    EXPECT_THAT(stages.recall.reports().at(0).text,
                HasSubstr("Chance under that mask is the result of the category alone"));
  }
}

TEST(Acceptance, CategoriesAreCountedWhereEachImageHasOne) {
  using retrieval::GalleryRow;
  const std::vector<std::int64_t> items{0, 1, 0};
  const std::vector<GalleryRow> rows{{0, "a", 3, {}}, {1, "b", 3, {}}, {2, "a", 5, {}}};
  const CategoryCounts counts(rows, items);
  EXPECT_TRUE(counts.known());
  EXPECT_EQ(counts.images(3), 2);
  EXPECT_EQ(counts.images(3, 0), 1);
  EXPECT_EQ(counts.images(4), 0);
  EXPECT_EQ(counts.images(5, 1), 0);
  const std::vector<GalleryRow> unknown{{0, "a", 3, {}}, {1, "b", -1, {}}, {2, "a", 5, {}}};
  EXPECT_FALSE(CategoryCounts(unknown, items).known());
}

TEST(Acceptance, MetricsOfRanksHaveErrorsByItem) {
  std::vector<std::int64_t> order(42);
  std::iota(order.begin(), order.end(), 0);
  Evaluated result = evaluated_in_order(order);
  for (const std::string metric : {"none.mrr@10", "none.r_precision", "none.map@r"}) {
    const double mean = result.metrics.at(metric).back();
    EXPECT_GT(result.metrics.at(metric + ".standard_error").back(), 0) << metric;
    EXPECT_LE(result.metrics.at(metric + ".interval_low").back(), mean) << metric;
    EXPECT_GE(result.metrics.at(metric + ".interval_high").back(), mean) << metric;
  }
  // MRR@1 equals recall@1.
  Retrieval stages({1});
  stages.index.push(of_two_categories()).finish();
  Packet queries = of_two_categories();
  queries.set(field::items, Texts{"a", "b", "b", "c", "c", "a", "c"});
  stages.evaluate({queries});
  for (const char* end : {"", ".standard_error", ".interval_low", ".interval_high"}) {
    EXPECT_DOUBLE_EQ(stages.recall.metric(std::string("none.mrr@1") + end),
                     stages.recall.metric(std::string("none.r@1") + end))
        << end;
  }
}

}  // namespace seam::stages::acceptance_test
