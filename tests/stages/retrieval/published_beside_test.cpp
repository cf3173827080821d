#include "stages/retrieval/published_beside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace published_beside_test {

using seam::stages::Evaluation;
using seam::stages::Mask;
using seam::stages::MaskResult;
using seam::stages::Metric;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

MaskResult result_of(Mask mask) {
  MaskResult result{mask, Metric::cosine, {}};
  result.recall.ks = {1, 10, 50};
  result.recall.queries = 14218;
  result.recall.query_items = 3985;
  result.recall.by_category[0] = {735, 212, {0.2, 0.6, 0.8}};
  result.recall.by_category[1] = {544, 195, {0.2, 0.6, 0.8}};
  return result;
}

Evaluation inshop() {
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
  const std::string text =
      published_beside(inshop(), {result_of(Mask::none), result_of(Mask::ground_truth)});
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
    Evaluation evaluation = inshop();
    MaskResult result = result_of(Mask::ground_truth);
    changes[i](evaluation, result);
    EXPECT_THAT(published_beside(evaluation, {result}), IsEmpty()) << "change " << i;
    EXPECT_THAT(published_categories(evaluation, result, names), IsEmpty()) << "change " << i;
  }
}

TEST(PublishedBeside, CategoriesAreShownWhereTheirCountsAreThePublished) {
  const std::string text = published_categories(inshop(), result_of(Mask::ground_truth), names);
  EXPECT_THAT(text, AllOf(HasSubstr("WOMEN_Sweaters:"), HasSubstr("| SCCapsNet | 10 | 27.50 |"),
                          Not(HasSubstr("WOMEN_Jackets_Coats"))));  // 544 queries, not 545
  EXPECT_THAT(published_categories(inshop(), result_of(Mask::ground_truth), {}), IsEmpty());
}

}  // namespace published_beside_test
