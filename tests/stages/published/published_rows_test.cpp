#include "stages/published/published_rows.hpp"

#include <functional>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::stages::published_rows_test {

MeasuredOn inshop() {
  return {.task = "recall",
          .data = "inshop",
          .category = "",
          .queries = 14'218,
          .items = 3'985,
          .gallery = 12'612,
          .height = 256,
          .width = 256,
          .mask = "ground_truth"};
}

const std::vector<std::int64_t> ks{1, 3, 5, 50};

std::string shown_on(const MeasuredOn& on) {
  return published_table(on, ks);
}

TEST(PublishedRows, AreShownForTheSameDataAndProtocol) {
  EXPECT_EQ(shown_on(inshop()),
            "\nPublished for the same lists, counts, image size and mask (Kınlı 2019):\n\n"
            "| method | table | R@1 | R@3 | R@5 | R@50 |\n|---|---|---:|---:|---:|---:|\n"
            "| SCCapsNet | 7 and 8 | 32.10 | – | – | 90.90 |\n"
            "| RCCapsNet | 7 and 8 | 33.90 | – | – | 92.60 |\n");
}

TEST(PublishedRows, AnyDifferenceHidesThem) {
  const std::vector<std::function<void(MeasuredOn&)>> changes{
      [](MeasuredOn& on) { on.task = "accuracy"; },
      [](MeasuredOn& on) { on.data = "inshop-subset"; },
      [](MeasuredOn& on) { on.category = "MEN_Denim"; },
      [](MeasuredOn& on) { on.queries = 14'217; },
      [](MeasuredOn& on) { on.queries = 0; },
      [](MeasuredOn& on) { on.items = 3'984; },
      [](MeasuredOn& on) { on.gallery = 12'613; },
      [](MeasuredOn& on) { on.height = 224; },
      [](MeasuredOn& on) { on.width = 64; },
      [](MeasuredOn& on) { on.width = 0; },
      [](MeasuredOn& on) { on.mask = "none"; },
      [](MeasuredOn& on) { on.mask = "predicted"; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    MeasuredOn on = inshop();
    changes[i](on);
    EXPECT_THAT(shown_on(on), IsEmpty()) << "change " << i;
  }
}

TEST(PublishedRows, WhatWasMeasuredInAnUnknownWayMatchesNothing) {
  MeasuredOn on = inshop();
  on.height = 0;
  on.width = 0;
  on.mask.clear();
  EXPECT_THAT(shown_on(on), IsEmpty());
}

TEST(PublishedRows, OfCategoriesHaveTheCountsOfTheirQueries) {
  MeasuredOn on = inshop();
  on.category = "WOMEN_Sweaters";
  EXPECT_THAT(shown_on(on), IsEmpty());
  on.queries = 735;
  on.items = 212;
  EXPECT_THAT(shown_on(on), AllOf(HasSubstr("| SCCapsNet | 10 | 27.50 |"),
                                  HasSubstr("| RCCapsNet | 10 | 27.60 |")));
}

TEST(PublishedRows, OfClassificationAreOfAllTestImages) {
  const MeasuredOn on{.task = "accuracy",
                      .data = "deepfashion-category-test",
                      .category = "",
                      .queries = 40'000,
                      .classes = 46,
                      .height = 224,
                      .width = 224,
                      .mask = "none"};
  EXPECT_THAT(shown_on(on), AllOf(HasSubstr("| top-1 | top-3 |"),
                                  HasSubstr("| SCCapsNet-CLS | 11 and 12 | – | 83.18 | 89.83 |"),
                                  HasSubstr("| RCCapsNet-CLS | 11 and 12 | – | 85.12 | 91.41 |")));
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

}  // namespace seam::stages::published_rows_test
