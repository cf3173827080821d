#include "stages/retrieval/recall_report.hpp"

#include <functional>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::stages::recall_report_test {

MaskResult result_of(Mask mask) {
  MaskResult result{mask, mask == Mask::none ? Metric::squared_euclidean : Metric::cosine, {}};
  result.recall.ks = {1, 10};
  result.recall.queries = 14218;
  result.recall.query_items = 3985;
  result.recall.recall = {0.321, 0.724};
  result.recall.optimistic = {0.321, 0.724};
  result.recall.pessimistic = {0.321, 0.724};
  result.recall.standard_error = {0.005, 0.004};
  return result;
}

Evaluation inshop() {
  Evaluation evaluation;
  evaluation.protocol = "inshop/img256";
  evaluation.gallery_images = 12612;
  evaluation.gallery_items = 3985;
  evaluation.query_input = {256, 256};
  evaluation.gallery_input = {256, 256};
  evaluation.expected = {14218, 12612, 256, 256};
  return evaluation;
}

TEST(RecallTable, NamesCountsProtocolAndRecall) {
  const std::string table = recall_table(inshop(), {result_of(Mask::none)});
  EXPECT_THAT(table, HasSubstr("14,218 queries of 3,985 items in a gallery of 12,612 images"));
  EXPECT_THAT(table, HasSubstr("0 lone queries left out"));
  EXPECT_THAT(table, HasSubstr("| none | no | 32.10 ± 0.50 | 72.40 ± 0.40 |"));
  EXPECT_THAT(
      table,
      HasSubstr(
          "`inshop/img256/input=256x256/images=14218-in-12612/full-gallery/l2/ties=id/self=kept/"
          "lone=left-out/mask=none`"));
  EXPECT_THAT(
      table,
      HasSubstr("As expected: count of queries, count of gallery images, input size. Not checked: "
                "the list of images, and their preparation (colour, cropping, interpolation).\n"));
  EXPECT_THAT(table, HasSubstr("| mask | MRR@10 |"));
  EXPECT_THAT(table, Not(HasSubstr("lucky")));
  EXPECT_THAT(table, Not(HasSubstr("eaky")));
}

TEST(RecallTable, TheProtocolCountsTheQueriesThatWereLeftOut) {
  MaskResult result = result_of(Mask::none);
  result.recall.lone_queries = 54;
  EXPECT_THAT(protocol_of(inshop(), result), HasSubstr("/lone=54-left-out/"));
  result.recall.lone_policy = LoneQueries::miss;
  EXPECT_THAT(protocol_of(inshop(), result), HasSubstr("/lone=missed/"));
}

TEST(RecallTable, SaysThatTheTrueCategoryIsLeaky) {
  const std::string table =
      recall_table(inshop(), {result_of(Mask::none), result_of(Mask::ground_truth)});
  EXPECT_THAT(table, HasSubstr("| ground_truth | **yes: leaky** |"));
  EXPECT_THAT(table, HasSubstr("category-gallery"));
  EXPECT_THAT(table, HasSubstr("\nLeaky: "));
}

TEST(RecallTable, ShowsBoundsWhereTiesMatter) {
  MaskResult result = result_of(Mask::predicted);
  result.recall.optimistic[1] = 0.75;
  EXPECT_THAT(recall_table(inshop(), {result}), HasSubstr("| 32.10 to 32.10 | 72.40 to 75.00 |"));
}

TEST(RecallTable, WrongCountsRefuseComparison) {
  Evaluation evaluation = inshop();
  evaluation.gallery_images = 12611;
  MaskResult result = result_of(Mask::none);
  EXPECT_EQ(incomparable(inshop(), result.recall), "");
  result.recall.queries = 100;
  EXPECT_THAT(incomparable(evaluation, result.recall),
              AllOf(HasSubstr("100 queries instead of the expected 14,218"),
                    HasSubstr("12,611 gallery images")));
  const std::string table = recall_table(evaluation, {result_of(Mask::none)});
  EXPECT_THAT(table, HasSubstr("Not comparable with published numbers"));
  EXPECT_THAT(table, Not(HasSubstr("As expected")));
}

TEST(RecallTable, APictureSizeOtherThanExpectedRefusesComparison) {
  Evaluation evaluation = inshop();
  evaluation.query_input = evaluation.gallery_input = {64, 64};
  const std::string table = recall_table(evaluation, {result_of(Mask::none)});
  EXPECT_THAT(table, HasSubstr("queries of input size 64x64 instead of the expected 256x256, a "
                               "gallery of input size 64x64"));
  EXPECT_THAT(table, HasSubstr("input=64x64/"));
  EXPECT_THAT(table, Not(HasSubstr("As expected")));
  evaluation.query_input = {};  // a model that keeps no pictures: what is not known is not right
  EXPECT_THAT(recall_table(evaluation, {result_of(Mask::none)}),
              HasSubstr("input size unknown instead of the expected 256x256"));
}

TEST(RecallTable, PicturesOfDifferentSizesInGalleryAndQueriesRefuseComparison) {
  Evaluation evaluation = inshop();
  evaluation.expected = {};
  evaluation.gallery_input = {64, 64};
  const std::string table = recall_table(evaluation, {result_of(Mask::none)});
  EXPECT_THAT(table, AllOf(HasSubstr("input=256x256-in-64x64"), HasSubstr("Not comparable")));
}

TEST(RecallTable, RankMetricsShowTheirBoundsWithEnoughDigits) {
  MaskResult result = result_of(Mask::none);
  result.recall.map_at_r = {0.00123, 0.00021, 0.0061};
  result.recall.r_precision = {0.25, 0.25, 0.25};
  const std::string table = recall_table(inshop(), {result});
  EXPECT_THAT(table, HasSubstr("| 25.00 | 0.123 (0.0210 to 0.610) |"));
  EXPECT_THAT(table, HasSubstr("\nIn parentheses: "));
  result.recall.map_at_r = {0.00123, 0.00123, 0.00123};
  EXPECT_THAT(recall_table(inshop(), {result}), Not(HasSubstr("In parentheses")));
}

TEST(RecallTable, QueriesLeftOutRefuseComparison) {
  MaskResult result = result_of(Mask::none);
  result.recall.lone_queries = 20;
  EXPECT_EQ(incomparable(inshop(), result.recall), "20 queries left out");
  result.recall.lone_policy = LoneQueries::miss;
  EXPECT_EQ(incomparable(inshop(), result.recall), "");
}

TEST(RecallTable, WhatIsNotExpectedIsNotClaimed) {
  Evaluation evaluation = inshop();
  evaluation.expected.gallery.reset();
  evaluation.expected.height.reset();
  EXPECT_THAT(recall_table(evaluation, {result_of(Mask::none)}),
              HasSubstr("As expected: count of queries. Not checked: count of gallery images, "
                        "input size, the list of images"));
  evaluation.expected = {};
  EXPECT_THAT(recall_table(evaluation, {result_of(Mask::none)}), Not(HasSubstr("As expected")));
}

TEST(CategoryTable, HasARowACategory) {
  MaskResult result = result_of(Mask::none);
  result.recall.by_category[-1] = {3, 2, {0, 1}};
  result.recall.by_category[4] = {1200, 1100, {0.25, 0.5}};
  const std::string table = category_table(result, {});
  EXPECT_THAT(table, HasSubstr("| category | items | queries | R@1 | R@10 |"));
  EXPECT_THAT(table, HasSubstr("| unknown | 2 | 3 | 0.00 | 100.00 |"));
  EXPECT_THAT(table, HasSubstr("| 4 | 1,100 | 1,200 | 25.00 | 50.00 |"));
}

TEST(CategoryTable, HasTheNamesThatThereAre) {
  MaskResult result = result_of(Mask::none);
  for (const std::int64_t category : {-1, 0, 1, 2, 7}) {
    result.recall.by_category[category] = {3, 3, {0, 1}};
  }
  const std::string table = category_table(result, {"MEN_Denim", "a|b", ""});
  for (const char* row :
       {"| unknown | 3 |", "| MEN_Denim | 3 |", "| a\\|b | 3 |", "| 2 | 3 |", "| 7 | 3 |"}) {
    EXPECT_THAT(table, HasSubstr(row));
  }
}

MaskResult published_result(Mask mask) {
  MaskResult result{mask, Metric::cosine, {}};
  result.recall.ks = {1, 10, 50};
  result.recall.queries = 14218;
  result.recall.query_items = 3985;
  result.recall.by_category[0] = {735, 212, {0.2, 0.6, 0.8}};
  result.recall.by_category[1] = {544, 195, {0.2, 0.6, 0.8}};
  return result;
}

Evaluation published_inshop() {
  Evaluation evaluation;
  evaluation.protocol = "inshop/img256";
  evaluation.published_data = "inshop";
  evaluation.gallery_images = 12612;
  evaluation.gallery_items = 3985;
  evaluation.query_input = {256, 256};
  evaluation.gallery_input = {256, 256};
  return evaluation;
}

const std::vector<std::string> names{"WOMEN_Sweaters", "WOMEN_Jackets_Coats"};

TEST(PublishedBeside, StandsUnderTheMaskThatWasPublished) {
  const std::string text = published_beside(
      published_inshop(), {published_result(Mask::none), published_result(Mask::ground_truth)});
  EXPECT_THAT(text, AllOf(HasSubstr("Mask ground_truth:"), Not(HasSubstr("Mask none:")),
                          HasSubstr("| SCCapsNet | 7 and 8 | 32.10 | 72.40 | 90.90 |"),
                          HasSubstr("| RCCapsNet | 7 and 8 | 33.90 | 75.20 | 92.60 |")));
}

TEST(PublishedBeside, IsNotShownForAnotherProtocol) {
  const std::vector<std::function<void(Evaluation&, MaskResult&)>> changes{
      [](Evaluation& e, MaskResult&) { e.published_data = "sop"; },
      [](Evaluation& e, MaskResult&) { e.published_data = ""; },
      [](Evaluation& e, MaskResult&) {
        e.query_input = {64, 64};
      },
      [](Evaluation& e, MaskResult&) {
        e.query_input = e.gallery_input = {64, 64};
      },
      [](Evaluation& e, MaskResult&) { e.query_input = e.gallery_input = {}; },
      [](Evaluation& e, MaskResult&) { e.gallery_images = 12611; },
      [](Evaluation& e, MaskResult&) { e.method = "hashing"; },
      [](Evaluation& e, MaskResult&) { e.self_excluded = true; },
      [](Evaluation& e, MaskResult&) { e.trainings_since_gallery = 1; },
      [](Evaluation& e, MaskResult&) { e.data_difference = "other lists"; },
      [](Evaluation&, MaskResult& r) { r.recall.queries = 14217; },
      [](Evaluation&, MaskResult& r) { r.recall.query_items = 3984; },
      [](Evaluation&, MaskResult& r) { r.recall.lone_queries = 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Evaluation evaluation = published_inshop();
    MaskResult result = published_result(Mask::ground_truth);
    changes[i](evaluation, result);
    EXPECT_THAT(published_beside(evaluation, {result}), IsEmpty()) << "change " << i;
    EXPECT_THAT(published_categories(evaluation, result, names), IsEmpty()) << "change " << i;
  }
}

TEST(PublishedBeside, CategoriesAreShownWhereTheirCountsAreThePublished) {
  const std::string text =
      published_categories(published_inshop(), published_result(Mask::ground_truth), names);
  EXPECT_THAT(text, AllOf(HasSubstr("WOMEN_Sweaters:"), HasSubstr("| SCCapsNet | 10 | 27.50 |"),
                          Not(HasSubstr("WOMEN_Jackets_Coats"))));  // 544 queries, not 545
  EXPECT_THAT(published_categories(published_inshop(), published_result(Mask::ground_truth), {}),
              IsEmpty());
}

}  // namespace seam::stages::recall_report_test
