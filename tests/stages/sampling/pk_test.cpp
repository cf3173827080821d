#include "stages/sampling/pk.hpp"

#include <seam/conformance.hpp>

#include "tests/stages/sampling/sampler_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::pk_test {

using Rows = std::vector<std::int64_t>;

std::string error_of(const Rows& items, std::int64_t p, std::int64_t k) {
  return test::error_of([&] { return PkSampler(items, p, k); });
}

/// `images` rows of each of `items` items, one item after the other.
Rows even_items(std::int64_t items, std::int64_t images) {
  Rows result;
  for (std::int64_t row = 0; row < items * images; ++row) result.push_back(row / images);
  return result;
}

TEST(PkSampler, DrawsDifferentItemsAndDifferentImages) {
  const Rows items = even_items(10, 5);
  const PkSampler sampler(items, 4, 3);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const Rows batch = sampler.draw(1, 2, 3, number);
    ASSERT_EQ(batch.size(), 12U);
    EXPECT_EQ(std::set<std::int64_t>(batch.begin(), batch.end()).size(), 12U);
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < 12; i += 3) {
      const std::int64_t item = items[batch[i]];
      EXPECT_TRUE(seen.insert(item).second);
      for (std::size_t image = i; image < i + 3; ++image) {
        EXPECT_EQ(items[batch[image]], item);
      }
    }
  }
}

TEST(PkSampler, ShowsEachItemOnceARound) {
  const Rows items = even_items(12, 2);
  const PkSampler sampler(items, 4, 2);
  ASSERT_EQ(sampler.round(), 3);
  std::map<std::int64_t, int> times;
  for (std::uint64_t number = 0; number < 6; ++number) {  // two rounds
    for (const std::int64_t row : sampler.draw(7, 0, 0, number)) {
      ++times[items[row]];
    }
  }
  ASSERT_EQ(times.size(), 12U);
  for (const auto& [item, count] : times) EXPECT_EQ(count, 4) << item;
}

TEST(PkSampler, LeavesOutOtherItemsEachEpoch) {
  const Rows items = even_items(7, 2);
  const PkSampler sampler(items, 3, 2);
  ASSERT_EQ(sampler.round(), 2);  // six of seven items
  std::set<std::int64_t> left_out;
  for (std::uint64_t epoch = 0; epoch < 60; ++epoch) {
    std::set<std::int64_t> seen;
    for (std::uint64_t number = 0; number < 2; ++number) {
      for (const std::int64_t row : sampler.draw(7, 0, epoch, number)) {
        seen.insert(items[row]);
      }
    }
    ASSERT_EQ(seen.size(), 6U);
    for (std::int64_t item = 0; item < 7; ++item) {
      if (!seen.contains(item)) left_out.insert(item);
    }
  }
  EXPECT_EQ(left_out.size(), 7U);
}

TEST(PkSampler, DrawsImagesAndNeighboursUniformly) {
  // Three of an item's six images, with P = 2 of 4 items: each image is in a batch of its item half
  // of the time, and each pair of items meets equally often.
  const Rows items = even_items(4, 6);
  const PkSampler sampler(items, 2, 3);
  constexpr int batches = 6000;
  std::vector<int> times(items.size());
  std::map<std::set<std::int64_t>, int> pairs;
  for (std::uint64_t number = 0; number < batches; ++number) {
    std::set<std::int64_t> pair;
    for (const std::int64_t row : sampler.draw(3, 1, number / 2, number % 2)) {
      ++times[row];
      pair.insert(items[row]);
    }
    ++pairs[pair];
  }
  // Binomial: n = 6000, p = 1/2 (item) * 1/2 (image): 1500 +- 34; five deviations.
  for (const int count : times) EXPECT_NEAR(count, 1500, 170);
  ASSERT_EQ(pairs.size(), 6U);
  // Two batches of an epoch are complements: 3000 draws of one of three splits: 1000 +- 26.
  for (const auto& [pair, count] : pairs) EXPECT_NEAR(count, 1000, 130);
}

TEST(PkSampler, RepeatsFewImagesEvenly) {
  const Rows items{0, 0, 0, 1, 1, 2, 2, 2, 2, 2};  // 3, 2 and 5 images
  const PkSampler sampler(items, 3, 5);
  EXPECT_EQ(sampler.few_image_items(), 2);
  for (std::uint64_t number = 0; number < 20; ++number) {
    std::map<std::int64_t, int> times;
    for (const std::int64_t row : sampler.draw(1, 1, 1, number)) ++times[row];
    ASSERT_EQ(times.size(), 10U);  // each image
    for (const auto& [row, count] : times) {
      const int least = row < 3 ? 1 : row < 5 ? 2 : 1;
      EXPECT_GE(count, least) << row;
      EXPECT_LE(count, row < 5 ? least + 1 : 1) << row;
    }
  }
}

TEST(PkSampler, DrawsTheSameBatchesInEveryRelease) {
  const Rows items = even_items(4, 3);
  const Rows categories{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1};
  const PkSampler any(items, 2, 2);
  EXPECT_EQ(any.draw(1, 2, 3, 1), (Rows{2, 1, 5, 3}));
  const PkSampler of_one(items, 2, 2, {1, categories});
  EXPECT_EQ(of_one.draw(1, 2, 3, 1), (Rows{5, 4, 11, 9}));
}

TEST(PkSampler, RefusesTooFewItems) {
  EXPECT_THAT(error_of({0, 0, 1}, 3, 2),
              AllOf(HasSubstr("a batch needs 3 items, but only received 3 images of 2 items"),
                    HasSubstr("lower 'items'")));
  EXPECT_EQ(error_of({0, 1}, 2, 4), "no error");
}

/// 100 items with two images each: 50 of one category, 30 of another and 20 of a third.
struct Categorised {
  Rows items = even_items(100, 2);
  Rows categories;  // of the rows
  Categorised() {
    for (const std::int64_t item : items) categories.push_back(item < 50 ? 7 : item < 80 ? 3 : 5);
  }
  [[nodiscard]] PkSampler sampler(std::int64_t p, std::int64_t count) const {
    return {items, p, 2, {count, categories}};
  }
  /// The number of items of each category in a batch.
  [[nodiscard]] std::map<std::int64_t, int> in(const Rows& batch) const {
    std::map<std::int64_t, int> counts;
    for (std::size_t i = 0; i < batch.size(); i += 2) {
      ++counts[categories[batch[i]]];
    }
    return counts;
  }
};

TEST(PkSampler, DrawsABatchFromAsManyCategoriesAsAskedFor) {
  const Categorised data;
  const PkSampler sampler = data.sampler(10, 2);
  ASSERT_EQ(sampler.round(), 10);
  int of_one = 0;
  int of_two = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    const std::map<std::int64_t, int> counts = data.in(sampler.draw(1, 2, number / 10, number));
    // Each category's items are a multiple of a cell of five, so that no cell holds two.
    for (const auto& [category, count] : counts) EXPECT_EQ(count % 5, 0) << category;
    (counts.size() == 1 ? of_one : of_two) += 1;
  }
  EXPECT_EQ(of_one + of_two, 100);
  EXPECT_GT(of_two, 30) << "cells should meet those of other categories";
  EXPECT_GT(of_one, 10) << "and of their own";
}

TEST(PkSampler, WithCategoriesShowsEachItemOnceARoundInANewOrder) {
  const Categorised data;
  const PkSampler sampler = data.sampler(20, 2);
  std::set<Rows> orders;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::int64_t> seen;
    Rows order;
    for (std::uint64_t number = 0; number < 5; ++number) {
      const Rows batch = sampler.draw(7, 0, epoch, number);
      ASSERT_EQ(batch, sampler.draw(7, 0, epoch, number));
      for (const std::int64_t row : batch) seen.insert(data.items[row]);
      order.insert(order.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(seen.size(), 100U);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3U);
}

TEST(PkSampler, RefusesMoreCategoriesThanThereAre) {
  const Categorised data;
  EXPECT_NO_THROW(static_cast<void>(data.sampler(12, 3)));
  EXPECT_REFUSED(static_cast<void>(data.sampler(12, 4)), Fault::data,
                 "batches need 4 categories, but the items are of 3 categories");
}

TEST(PkSampler, WhereACategoryEndsACellHoldsTwo) {
  const Categorised data;
  const PkSampler sampler = data.sampler(16, 1);  // 50, 30 and 20 items are not multiples
  ASSERT_EQ(sampler.round(), 6);
  int mixed = 0;
  for (std::uint64_t number = 0; number < 6; ++number) {
    mixed += data.in(sampler.draw(1, 1, 1, number)).size() > 1 ? 1 : 0;
  }
  EXPECT_LE(mixed, 2);
}

std::vector<Packet> twelve_images() {
  return test::images_of_items(12, 4);
}

std::unique_ptr<testing::Harness> pk(std::int64_t items, std::int64_t images) {
  auto harness = std::make_unique<testing::Harness>("pk", std::make_unique<Pk>());
  harness->set("items", items).set("images", images);
  return harness;
}

const auto conformance = testing::conformance<Pk>({
    .parameters = {{"items", std::int64_t{2}}, {"images", std::int64_t{2}}},
});

TEST(PkStage, GivesTheImagesOfABatchOneGroup) {
  const auto harness = pk(2, 3);
  std::vector<Packet> images = twelve_images();
  for (Packet& image : images) image.set(field::group_size, 2);  // of pairs in the data set
  harness->push_all(std::move(images));
  EXPECT_THAT(harness->outputs(), SizeIs(0));
  harness->finish();
  ASSERT_THAT(harness->outputs(), SizeIs(12));  // two batches
  for (std::size_t i = 0; i < 12; ++i) {
    const Packet& packet = harness->outputs()[i];
    EXPECT_EQ(packet.get(field::group), static_cast<std::int64_t>(i / 6));
    EXPECT_FALSE(packet.has(field::group_size));
    EXPECT_EQ(packet.get(field::item), harness->outputs()[i / 3 * 3].get(field::item));
  }
}

TEST(PkStage, BeginsANewRoundWhereMoreBatchesAreAskedFor) {
  const auto harness = pk(4, 1);
  harness->set("per_epoch", 5);
  harness->push_all(twelve_images()).finish();
  ASSERT_THAT(harness->outputs(), SizeIs(20));
  for (std::size_t batch = 0; batch < 5; ++batch) {
    std::set<std::string> items;
    for (std::size_t i = 4 * batch; i < 4 * batch + 4; ++i) {
      items.insert(harness->outputs()[i].get(field::item));
    }
    EXPECT_EQ(items.size(), 4U);
  }
}

TEST(PkStage, DependsOnSeedAndEpoch) {
  const auto run = [](std::uint64_t seed, std::int64_t epoch) {
    const auto harness = pk(2, 2);
    harness->seed(seed).epoch(epoch);
    harness->push_all(twelve_images()).finish();
    return test::sent(*harness, field::item);
  };
  EXPECT_NE(run(1, 0), run(2, 0));
  EXPECT_NE(run(1, 0), run(1, 1));
}

TEST(PkStage, SaysWhatBecomesOfItemsWithFewImages) {
  const auto harness = pk(4, 4);
  harness->push_all(twelve_images()).finish();
  EXPECT_THAT(harness->log(),
              Contains(::testing::Field(&testing::LogLine::text,
                                        HasSubstr("4 items have fewer than 4 images"))));
}

TEST(PkStage, RefusesCategoriesThatItDoesNotKnowOrThatDoNotDivideABatch) {
  const auto unknown = pk(2, 2);
  unknown->set("categories", 1);
  EXPECT_THAT(test::error_of_epoch(*unknown, twelve_images()),
              HasSubstr("the image has no category"));
  const auto uneven = pk(4, 2);
  uneven->set("categories", 3);
  EXPECT_REFUSED(uneven->open(), Fault::configuration, "set 'categories' to a divisor of 'items'");
}

}  // namespace seam::stages::pk_test
