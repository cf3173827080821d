#include "stages/published/published_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <seam/error.hpp>
#include <string>
#include <vector>

namespace seam::stages {
namespace published_rows_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MeasuredOn inshop() {
  return {.task = "recall",
          .data = "inshop",
          .category = "",
          .queries = 14'218,
          .items = 3'985,
          .gallery = 12'612,
          .classes = {},
          .height = 256,
          .width = 256,
          .mask = "ground_truth"};
}

std::vector<std::string> methods_on(const MeasuredOn& on) {
  std::vector<std::string> methods;
  for (const PublishedRow& row : published_on(on)) methods.push_back(row.method);
  return methods;
}

TEST(PublishedRows, TheWholeTableIsRead) {
  const std::vector<PublishedRow> rows = parse_published(published_csv());
  // Tables 7 and 8 together have 16 methods, table 10 has 12 rows, tables 11 and 12 have 13
  // methods.
  EXPECT_EQ(rows.size(), 16U + 12U + 13U);
}

TEST(PublishedRows, AreShownForTheSameDataAndProtocol) {
  EXPECT_THAT(methods_on(inshop()), ElementsAre("SCCapsNet", "RCCapsNet"));
  const PublishedRow row = published_on(inshop())[0];
  EXPECT_EQ(row.at(1), 32.1);
  EXPECT_EQ(row.at(50), 90.9);
  EXPECT_FALSE(row.at(5));
  EXPECT_EQ(row.tables, "7 and 8");
}

TEST(PublishedRows, AnyDifferenceHidesThem) {
  const std::vector<std::function<void(MeasuredOn&)>> changes{
      [](MeasuredOn& on) { on.task = "accuracy"; },
      [](MeasuredOn& on) { on.data = "inshop-subset"; },
      [](MeasuredOn& on) { on.category = "MEN_Denim"; },
      [](MeasuredOn& on) { on.queries = 14'217; },
      [](MeasuredOn& on) { on.queries.reset(); },
      [](MeasuredOn& on) { on.items = 3'984; },
      [](MeasuredOn& on) { on.gallery = 12'613; },
      [](MeasuredOn& on) { on.height = 224; },
      [](MeasuredOn& on) { on.width = 64; },
      [](MeasuredOn& on) { on.width.reset(); },
      [](MeasuredOn& on) { on.mask = "none"; },
      [](MeasuredOn& on) { on.mask = "predicted"; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    MeasuredOn on = inshop();
    changes[i](on);
    EXPECT_THAT(methods_on(on), IsEmpty()) << "change " << i;
  }
}

TEST(PublishedRows, WhatWasMeasuredInAnUnknownWayMatchesNothing) {
  MeasuredOn on = inshop();
  on.height.reset();
  on.width.reset();
  on.mask.clear();
  EXPECT_THAT(methods_on(on), IsEmpty());
}

TEST(PublishedRows, OfCategoriesHaveTheCountsOfTheirQueries) {
  MeasuredOn on = inshop();
  on.category = "WOMEN_Sweaters";
  EXPECT_THAT(methods_on(on), IsEmpty());
  on.queries = 735;
  on.items = 212;
  EXPECT_THAT(methods_on(on), ElementsAre("SCCapsNet", "RCCapsNet"));
}

TEST(PublishedRows, OfClassificationAreOfAllTestImages) {
  const MeasuredOn on{.task = "accuracy",
                      .data = "deepfashion-category-test",
                      .category = "",
                      .queries = 40'000,
                      .items = {},
                      .gallery = {},
                      .classes = 46,
                      .height = 224,
                      .width = 224,
                      .mask = "none"};
  EXPECT_THAT(methods_on(on), ElementsAre("SCCapsNet-CLS", "RCCapsNet-CLS"));
}

TEST(PublishedRows, TheTableLeavesOutWhatWasNotPublished) {
  const std::vector<std::int64_t> ks{1, 5, 50};
  const std::string text = published_table(published_on(inshop()), ks, "R@");
  EXPECT_THAT(text, HasSubstr("| method | table | R@1 | R@5 | R@50 |"));
  EXPECT_THAT(text, HasSubstr("| SCCapsNet | 7 and 8 | 32.10 | – | 90.90 |"));
  EXPECT_THAT(published_table({}, ks, "R@"), IsEmpty());
}

TEST(PublishedRows, ADamagedTableIsRefusedByItsLine) {
  const auto error_of = [](const std::string& line) -> std::string {
    const std::string csv(published_csv());
    try {
      static_cast<void>(parse_published(csv.substr(0, csv.find('\n') + 1) + line));
    } catch (const Error& error) {
      return error.full_message();
    }
    return "no error";
  };
  EXPECT_EQ(error_of("recall,7,A,inshop,,1,1,1,,1,1,none,1=3.5"), "no error");
  EXPECT_THAT(error_of("recall,7,A,inshop"), HasSubstr("published.csv:2: expected 13 cells"));
  EXPECT_THAT(error_of("other,7,A,inshop,,1,1,1,,1,1,none,1=3.5"), HasSubstr("task"));
  EXPECT_THAT(error_of("recall,7,A,inshop,,x,1,1,,1,1,none,1=3.5"),
              HasSubstr("'x' is not a number"));
  EXPECT_THAT(error_of("recall,7,A,inshop,,1,1,1,,1,1,none,1=101"), HasSubstr("above 100"));
  EXPECT_THAT(error_of("recall,7,A,inshop,,1,1,1,,1,1,none,1"), HasSubstr("k=percent"));
}

TEST(PublishedRows, TheDataIsAProtocolWithoutTheSizeOfPictures) {
  EXPECT_EQ(data_of_protocol("inshop/img256"), "inshop");
  EXPECT_EQ(data_of_protocol("inshop/cross-colour/img256"), "inshop/cross-colour");
  EXPECT_EQ(data_of_protocol("inshop/cross-colour"), "inshop/cross-colour");
  EXPECT_EQ(data_of_protocol("inshop/img"), "inshop/img");
  EXPECT_EQ(data_of_protocol("inshop/img256-cropped"), "inshop/img256-cropped");
  EXPECT_EQ(data_of_protocol("inshop"), "inshop");
  EXPECT_EQ(data_of_protocol(""), "");
}

}  // namespace published_rows_test
}  // namespace seam::stages
