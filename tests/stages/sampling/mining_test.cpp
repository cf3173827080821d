#include "stages/sampling/mining.hpp"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <limits>

#include "tests/support/matchers.hpp"

namespace seam::stages::mining_test {

using Numbers = std::vector<std::int64_t>;

struct Images {
  torch::Tensor vectors;
  Numbers items;
  Numbers categories;
  Numbers positives;

  [[nodiscard]] MiningSet set(std::int64_t most_passed_over = 256) const {
    return {vectors, items, categories,
            [](std::int64_t row) { return "image " + std::to_string(row); }, most_passed_over};
  }
};

/// Vectors on a coarse grid, where many distances tie. Some items lie in two categories, some have
/// one image, and category 3 has only one item.
Images random_images(std::int64_t count, bool capsules) {
  torch::manual_seed(5);
  Images images;
  images.vectors = capsules ? torch::randn({count, 4, 3}) : torch::randn({count, 6});
  images.vectors = (images.vectors * 2).round() / 2;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t item = row % 29 == 0 ? 1000 + row : row % 17;
    images.items.push_back(row % 23 == 0 ? 77 : item);
    images.categories.push_back(row % 23 == 0 ? 3 : (item + row / 60) % 3);
  }
  for (std::int64_t row = 0; row < count; ++row) {
    std::int64_t positive = row;
    for (std::int64_t step = 1; step < count && positive == row; ++step) {
      const std::int64_t other = (row * 7 + step) % count;
      if (images.items[other] == images.items[row]) positive = other;
    }
    images.positives.push_back(positive);
  }
  return images;
}

double distance(const Images& images, std::int64_t a, std::int64_t b) {
  const bool capsules = images.vectors.dim() == 3;
  const std::int64_t width = images.vectors.size(-1);
  const std::int64_t stride = images.vectors.stride(0);
  const float* data =
      images.vectors.data_ptr<float>() + (capsules ? images.categories[a] * width : 0);
  double sum = 0;
  for (std::int64_t d = 0; d < width; ++d) {
    const double difference =
        static_cast<double>(data[a * stride + d]) - static_cast<double>(data[b * stride + d]);
    sum += difference * difference;
  }
  return sum;
}

/// The closest row for which `accepts` is true; the first of equally close ones; -1 if there is
/// none.
template <class Accepts>
std::int64_t closest(const Images& images, std::int64_t anchor, const Accepts& accepts) {
  std::int64_t best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(images.items.size()); ++row) {
    if (images.items[row] == images.items[anchor]) continue;
    const double d = distance(images, anchor, row);
    if (d < least && accepts(row, d)) {
      best = row;
      least = d;
    }
  }
  return best;
}

/// The rules as defined in the header, row by row.
Numbers slowly_mined(const Images& images, const MiningRule& rule) {
  Numbers negatives;
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(images.items.size()); ++row) {
    const std::int64_t category = images.categories[row];
    const auto other = [&](std::int64_t n, double) { return images.categories[n] != category; };
    std::int64_t found = -1;
    if (rule.negatives == NegativeSource::hardest_other_category) {
      found = closest(images, row, other);
    } else if (rule.negatives == NegativeSource::hardest_same_category) {
      found = closest(images, row,
                      [&](std::int64_t n, double) { return images.categories[n] == category; });
      if (found < 0) found = closest(images, row, other);
    } else {
      const double positive = distance(images, row, images.positives[row]);
      found = closest(images, row, [&](std::int64_t, double d) {
        return d > positive && d < positive + rule.margin;
      });
      if (found < 0) found = closest(images, row, [](std::int64_t, double) { return true; });
    }
    negatives.push_back(found);
  }
  return negatives;
}

const std::vector<MiningRule> rules{{NegativeSource::hardest_other_category, 0},
                                    {NegativeSource::hardest_same_category, 0},
                                    {NegativeSource::semi_hard, 0.6},
                                    {NegativeSource::semi_hard, 1000}};

TEST(Mining, AgreesWithComparingAllPairs) {
  for (const bool capsules : {false, true}) {
    const Images images = random_images(300, capsules);
    for (const MiningRule& rule : rules) {
      const Numbers expected = slowly_mined(images, rule);
      // Whether images of the same item and category are skipped or left out of the search.
      for (const std::int64_t passed_over : {0, 10, 20, 256}) {
        const MiningResult found = mine(images.set(passed_over), rule, images.positives);
        EXPECT_EQ(found.lists.negatives, expected)
            << to_string(rule.negatives) << ", capsules " << capsules << ", " << passed_over;
      }
    }
  }
}

TEST(Mining, IsTheSameForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  const Images images = random_images(500, false);
  for (const MiningRule& rule : rules) {
    std::vector<MiningResult> results;
    for (const int count : {1, 8}) {
      at::set_num_threads(count);
      results.push_back(mine(images.set(), rule, images.positives));
    }
    EXPECT_EQ(results[0].lists, results[1].lists);
    EXPECT_EQ(results[0].mean_distance, results[1].mean_distance);
  }
  at::set_num_threads(threads);
}

/// On a line: 0 and 1 are a shirt, 2 and 3 a skirt, 4 a dress of the shirt's category.
Images garments() {
  return {torch::tensor({{0.F}, {3.F}, {1.F}, {9.F}, {4.F}}),
          {10, 10, 20, 20, 30},
          {0, 0, 1, 1, 0},
          {1, 0, 3, 2, 4}};
}

TEST(Mining, ChoosesByHand) {
  const Images images = garments();
  const auto negatives = [&](NegativeSource rule, double margin = 0) {
    return mine(images.set(), {rule, margin}, images.positives).lists.negatives;
  };
  EXPECT_THAT(negatives(NegativeSource::hardest_other_category), ElementsAre(2, 2, 0, 4, 2));
  // The skirts' category has no other item: the closest of a different category.
  EXPECT_THAT(negatives(NegativeSource::hardest_same_category), ElementsAre(4, 4, 0, 4, 1));
  // Squared distances to the positive: 9, 9, 64, 64, and 0 of the dress to itself.
  // From row 0: 1, 81, 16; 16 is the first beyond 9. From row 1: 4, 36, 1.
  EXPECT_THAT(negatives(NegativeSource::semi_hard, 1000), ElementsAre(4, 3, 0, 0, 1));
  // Within 10 only rows 0 and 4 have one; the others get their closest.
  EXPECT_THAT(negatives(NegativeSource::semi_hard, 10), ElementsAre(4, 4, 0, 4, 1));
}

TEST(Mining, CountsWhatFellBack) {
  const Images images = garments();
  EXPECT_EQ(mine(images.set(), {NegativeSource::hardest_same_category, 0}, {}).fallbacks, 2);
  EXPECT_EQ(mine(images.set(), {NegativeSource::semi_hard, 10}, images.positives).fallbacks, 3);
  const MiningResult other = mine(images.set(), {NegativeSource::hardest_other_category, 0}, {});
  EXPECT_EQ(other.fallbacks, 0);
  EXPECT_EQ(other.mean_distance, (1 + 4 + 1 + 25 + 9) / 5.0);
}

TEST(Mining, RefusesWhatHasNoNegatives) {
  Images images = garments();
  images.items.assign(5, 1);
  EXPECT_REFUSED((void)mine(images.set(), rules[2], images.positives), Fault::data,
                 "at least two items");
  images = garments();
  images.categories.assign(5, 1);
  EXPECT_REFUSED((void)mine(images.set(), rules[0], {}), Fault::configuration,
                 "hardest_other_category has no negative for image 0");
}

TEST(Mining, RefusesImagesWithoutACategoryWhereOneIsNeeded) {
  Images images = garments();
  images.categories[3] = -1;
  for (const MiningRule& rule : {rules[0], rules[1]}) {
    EXPECT_REFUSED((void)mine(images.set(), rule, {}), Fault::configuration,
                   "image 3 has no category");
  }
  EXPECT_NO_THROW((void)mine(images.set(), rules[2], images.positives));
  images.vectors = torch::zeros({5, 2, 3});
  EXPECT_REFUSED((void)mine(images.set(), rules[2], images.positives), Fault::configuration,
                 "image 3 has no category");
  images.categories[3] = 2;
  EXPECT_REFUSED((void)mine(images.set(), rules[2], images.positives), Fault::configuration,
                 "image 3 is of category 2, but the model has class capsules 0 to 1");
}

TEST(Mining, RefusesVectorsThatAreNotFiniteAndNamesTheImage) {
  for (const MiningRule& rule : rules) {
    Images images = garments();
    images.vectors[2][0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_REFUSED((void)mine(images.set(), rule, images.positives), Fault::data,
                   "the embedding of 'image 2' has elements that are NaN");
  }
}

}  // namespace seam::stages::mining_test
