#include "stages/sampling/triplet_sampling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <seam/error.hpp>
#include <set>
#include <string>
#include <vector>

namespace seam::stages {
namespace triplet_sampling_test {

using ::testing::HasSubstr;

// Items of 3, 1, 4 and 2 images; rows of one item are not adjacent.
const std::vector<std::int64_t> items{70, 50, 70, 90, 90, 10, 70, 90, 10, 90};

TripletSampler sampler(AnchorChoice anchors = AnchorChoice::with_replacement,
                       SingleImageItems single = SingleImageItems::pair_with_itself) {
  return {items, anchors, single};
}

std::int64_t item_of(std::int64_t row) {
  return items[static_cast<std::size_t>(row)];
}

TEST(TripletSampler, PositivesShareTheItemAndNegativesDoNot) {
  const TripletSampler triplets = sampler();
  for (std::uint64_t number = 0; number < 2000; ++number) {
    const DrawnTriplet triplet = triplets.draw(1, 2, 3, number);
    EXPECT_EQ(item_of(triplet.anchor), item_of(triplet.positive));
    EXPECT_NE(item_of(triplet.anchor), item_of(triplet.negative));
    if (item_of(triplet.anchor) == 50) {
      EXPECT_EQ(triplet.anchor, triplet.positive);
    } else {
      EXPECT_NE(triplet.anchor, triplet.positive);
    }
  }
}

TEST(TripletSampler, DrawsUniformly) {
  const TripletSampler triplets = sampler();
  constexpr int draws = 60'000;
  std::map<std::int64_t, int> anchors;
  std::map<std::int64_t, int> positives_of_row_0;
  std::map<std::int64_t, int> negatives_of_item_90;
  int of_row_0 = 0;
  int of_item_90 = 0;
  for (int number = 0; number < draws; ++number) {
    const DrawnTriplet triplet = triplets.draw(5, 0, 0, static_cast<std::uint64_t>(number));
    ++anchors[triplet.anchor];
    if (triplet.anchor == 0) {
      ++of_row_0;
      ++positives_of_row_0[triplet.positive];
    }
    if (item_of(triplet.anchor) == 90) {
      ++of_item_90;
      ++negatives_of_item_90[triplet.negative];
    }
  }
  for (const auto& [row, count] : anchors) EXPECT_NEAR(count, draws / 10.0, 400) << row;
  ASSERT_EQ(positives_of_row_0.size(), 2U);
  for (const auto& [row, count] : positives_of_row_0)
    EXPECT_NEAR(count, of_row_0 / 2.0, 250) << row;
  ASSERT_EQ(negatives_of_item_90.size(), 6U);
  for (const auto& [row, count] : negatives_of_item_90) {
    EXPECT_NEAR(count, of_item_90 / 6.0, 300) << row;
  }
}

TEST(TripletSampler, UsesEachImageOnceAnEpoch) {
  const TripletSampler triplets = sampler(AnchorChoice::each_image_once);
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  std::vector<std::int64_t> next_epoch;
  for (std::uint64_t number = 0; number < 10; ++number) {
    first.push_back(triplets.draw(1, 0, 0, number).anchor);
    second.push_back(triplets.draw(1, 0, 0, 10 + number).anchor);
    next_epoch.push_back(triplets.draw(1, 0, 1, number).anchor);
  }
  std::vector<std::int64_t> all(10);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(second, ::testing::UnorderedElementsAreArray(all));
  EXPECT_NE(first, second);
  EXPECT_NE(first, next_epoch);
  EXPECT_NE(first, all);
}

TEST(TripletSampler, OrdersOfAnySizeAreComplete) {
  for (const std::int64_t size : {2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000}) {
    std::vector<std::int64_t> own(static_cast<std::size_t>(size));
    std::iota(own.begin(), own.end(), 0);
    const TripletSampler triplets(own, AnchorChoice::each_image_once,
                                  SingleImageItems::pair_with_itself);
    std::set<std::int64_t> seen;
    for (std::int64_t number = 0; number < size; ++number) {
      seen.insert(triplets.draw(1, 2, 3, static_cast<std::uint64_t>(number)).anchor);
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), size);
  }
}

TEST(TripletSampler, SkipsSingleImageItemsAsAnchorsOnly) {
  const TripletSampler triplets = sampler(AnchorChoice::with_replacement, SingleImageItems::skip);
  EXPECT_EQ(triplets.anchors(), 9);
  EXPECT_EQ(triplets.single_image_items(), 1);
  bool is_negative = false;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const DrawnTriplet triplet = triplets.draw(1, 2, 3, number);
    EXPECT_NE(triplet.anchor, 1);
    EXPECT_NE(triplet.anchor, triplet.positive);
    is_negative = is_negative || triplet.negative == 1;
  }
  EXPECT_TRUE(is_negative);
}

TEST(TripletSampler, DependsOnItsArgumentsAlone) {
  const TripletSampler triplets = sampler();
  const DrawnTriplet later = triplets.draw(9, 8, 7, 1000);
  (void)triplets.draw(9, 8, 7, 3);
  EXPECT_EQ(triplets.draw(9, 8, 7, 1000), later);

  int changed = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    const DrawnTriplet here = triplets.draw(9, 8, 7, number);
    changed += here == triplets.draw(10, 8, 7, number) ? 0 : 1;
    changed += here == triplets.draw(9, 9, 7, number) ? 0 : 1;
    changed += here == triplets.draw(9, 8, 8, number) ? 0 : 1;
  }
  EXPECT_GT(changed, 270);
}

TEST(TripletSampler, SaysWhatIsMissing) {
  const auto error_of = [](std::vector<std::int64_t> own, SingleImageItems single) {
    try {
      const TripletSampler triplets(own, AnchorChoice::with_replacement, single);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error_of({}, SingleImageItems::skip), HasSubstr("two items"));
  EXPECT_THAT(error_of({4}, SingleImageItems::skip),
              HasSubstr("but only received 1 image of 1 item"));
  EXPECT_THAT(error_of({4, 4, 4}, SingleImageItems::skip),
              HasSubstr("but only received 3 images of 1 item"));
  EXPECT_THAT(error_of({1, 2, 3}, SingleImageItems::skip), HasSubstr("no positive"));
  EXPECT_EQ(error_of({1, 2, 3}, SingleImageItems::pair_with_itself), "no error");
}

}  // namespace triplet_sampling_test
}  // namespace seam::stages
