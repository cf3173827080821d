#include "stages/retrieval/exact_search.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <seam/error.hpp>
#include <utility>

#include "stages/retrieval/compared_batch.hpp"
#include "stages/retrieval/rounded_vectors.hpp"
#include "stages/retrieval/search_kernels.hpp"
#include "tests/stages/retrieval/slow_search.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::exact_search_test {

using retrieval_test::random_vectors;
using retrieval_test::slow_search;
using ::testing::Each;

struct Case {
  std::string name;
  torch::Tensor queries;
  torch::Tensor gallery;
  Metric metric = Metric::squared_euclidean;
};

/// Vectors on a coarse grid tie all the time; masked ones tie at 2; constant ones always.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Metric metric : {Metric::squared_euclidean, Metric::cosine}) {
    const std::string suffix = "_" + to_string(metric);
    all.push_back(
        {"normal" + suffix, random_vectors(37, 48, 1), random_vectors(900, 48, 2), metric});
    all.push_back({"grid" + suffix, random_vectors(23, 5, 3).round().add_(0.5),
                   random_vectors(1500, 5, 4).round().add_(0.5), metric});
    all.push_back({"constant" + suffix, torch::ones({5, 17}), torch::ones({800, 17}), metric});
    all.push_back({"far_from_origin" + suffix, random_vectors(11, 33, 5) + 300,
                   random_vectors(700, 33, 6) + 300, metric});
  }
  const auto masked = [](std::int64_t count, std::uint64_t seed) {
    torch::Tensor capsules = random_vectors(count * 7, 16, seed).view({count, 7, 16});
    capsules = capsules / capsules.norm(2, 2, true);
    return masked_embedding(capsules, torch::randint(7, {count}, torch::kInt64));
  };
  all.push_back({"masked", masked(29, 7), masked(1200, 8), Metric::cosine});
  return all;
}

TEST(ExactSearch, AgreesWithSortingAllPairsInDouble) {
  for (const Case& c : cases()) {
    std::vector<std::int64_t> query_item(static_cast<std::size_t>(c.queries.size(0)));
    std::vector<std::int64_t> gallery_item(static_cast<std::size_t>(c.gallery.size(0)));
    for (std::size_t i = 0; i < query_item.size(); ++i) query_item[i] = static_cast<int>(i) % 5;
    for (std::size_t i = 0; i < gallery_item.size(); ++i) gallery_item[i] = static_cast<int>(i) % 7;
    for (const std::int64_t k : {1, 10, 70}) {
      SearchOptions options;
      options.k = k;
      options.query_item = query_item;
      options.gallery_item = gallery_item;
      EXPECT_EQ(ExactIndex(c.gallery, c.metric).search(c.queries, options),
                slow_search(c.queries, c.gallery, c.metric, options))
          << c.name << ", k = " << k;
    }
  }
}

/// Bounds between two neighbours, at one of them with its ties, before all, after all.
TEST(ExactSearch, FindsOnlyWhatIsFartherThanABound) {
  for (const Case& c : cases()) {
    const ExactIndex index(c.gallery, c.metric);
    SearchOptions options;
    options.k = c.gallery.size(0);
    const Neighbours all = index.search(c.queries, options);
    for (const std::int64_t k : {1, 10}) {
      options.k = k;
      for (const std::int64_t place :
           {std::int64_t{0}, std::int64_t{40}, c.gallery.size(0) / 2, c.gallery.size(0) - 1}) {
        std::vector<float> bounds;
        for (std::int64_t i = 0; i < c.queries.size(0); ++i) {
          const float distance = all.distances[i * all.k + place];
          const float next = std::nextafter(distance, i % 3 == 1 ? 0.0F : 100.0F);
          bounds.push_back(i % 3 == 0 ? distance : next);
        }
        if (place == 0) bounds.front() = -1;
        options.farther_than = bounds;
        const Neighbours expected = slow_search(c.queries, c.gallery, c.metric, options);
        for (const Products products : {Products::float32, Products::bfloat16}) {
          options.products = products;
          const Neighbours found = index.search(c.queries, options);
          EXPECT_EQ(found.rows, expected.rows) << c.name << ", k = " << k << ", place " << place;
          EXPECT_EQ(found.distances, expected.distances) << c.name;
          EXPECT_EQ(found.tied_beyond, expected.tied_beyond) << c.name;
        }
      }
    }
  }
}

TEST(ExactSearch, DistancesAreThoseOfExtendedPrecision) {
  for (const Case& c : cases()) {
    const Neighbours found = ExactIndex(c.gallery, c.metric).search(c.queries, {});
    for (std::int64_t i = 0; i < c.queries.size(0); ++i) {
      for (std::int64_t n = 0; n < found.k; ++n) {
        const float* q = c.queries.data_ptr<float>() + i * c.queries.size(1);
        const float* g =
            c.gallery.data_ptr<float>() + found.rows[i * found.k + n] * c.queries.size(1);
        long double left = 0;
        long double right = 0;
        for (std::int64_t d = 0; d < c.queries.size(1); ++d) {
          left += static_cast<long double>(q[d]) * q[d];
          right += static_cast<long double>(g[d]) * g[d];
        }
        const long double scale_left = c.metric == Metric::cosine ? 1 / std::sqrt(left) : 1.0L;
        const long double scale_right = c.metric == Metric::cosine ? 1 / std::sqrt(right) : 1.0L;
        long double distance = 0;
        for (std::int64_t d = 0; d < c.queries.size(1); ++d) {
          const long double difference = q[d] * scale_left - g[d] * scale_right;
          distance += difference * difference;
        }
        const double size =
            static_cast<double>(left * scale_left * scale_left + right * scale_right * scale_right);
        EXPECT_NEAR(found.distances[i * found.k + n], static_cast<double>(distance),
                    1e-7 * static_cast<double>(distance) + 1e-14 * size)
            << c.name;
      }
    }
  }
}

TEST(ExactSearch, TileSizesAndThreadsChangeNothing) {
  const int threads = at::get_num_threads();
  for (const Case& c : cases()) {
    const ExactIndex index(c.gallery, c.metric);
    SearchOptions options;
    options.k = 20;
    const Neighbours expected = index.search(c.queries, options);
    for (const int count : {1, 8}) {
      at::set_num_threads(count);
      for (const auto& [query_tile, gallery_tile] :
           std::vector<std::pair<std::int64_t, std::int64_t>>{
               {1, 1}, {3, 31}, {256, 32}, {7, 100}, {1000, 5000}}) {
        options.query_tile = query_tile;
        options.gallery_tile = gallery_tile;
        EXPECT_EQ(index.search(c.queries, options), expected)
            << c.name << ", " << count << " threads, tiles " << query_tile << " x " << gallery_tile;
      }
    }
    at::set_num_threads(threads);
  }
}

/// Cases in which products rounded to bfloat16 are least informative, or farthest from the exact
/// ones.
std::vector<Case> cases_for_rounding() {
  std::vector<Case> all = cases();
  for (const Metric metric : {Metric::squared_euclidean, Metric::cosine}) {
    const std::string suffix = "_" + to_string(metric);
    const torch::Tensor base = random_vectors(30, 96, 11);
    // Thirty groups of vectors that become equal when rounded, in shuffled order.
    const torch::Tensor near =
        base.repeat({40, 1}) * (1 + 1e-5 * random_vectors(1200, 96, 12)).to(torch::kFloat32);
    all.push_back({"near_duplicates" + suffix, base, near, metric});
    const torch::Tensor least = random_vectors(1200, 96, 13) * 1e-4 + base[0];
    all.push_back({"all_close_together" + suffix, base, least, metric});
    // Exactly between two numbers of bfloat16, so that all roundings are as large as can be.
    const auto between = [](std::int64_t count, std::uint64_t seed) {
      return random_vectors(count, 96, seed).sign() * (1 + 1.0 / 256);
    };
    all.push_back({"halfway" + suffix, between(20, 14), between(1200, 15), metric});
    const torch::Tensor powers = torch::pow(10.0, torch::arange(1200.0).remainder(24) - 11);
    all.push_back({"lengths_from_1e-10_to_1e13" + suffix, base,
                   (random_vectors(1200, 96, 16) * powers.unsqueeze(1)).to(torch::kFloat32),
                   metric});
  }
  all.push_back({"subnormal", random_vectors(20, 96, 17) * 1e-39, random_vectors(1200, 96, 18)});
  all.push_back(
      {"all_subnormal", random_vectors(20, 96, 17) * 1e-39, random_vectors(1200, 96, 18) * 1e-39});
  all.push_back({"products_underflow", random_vectors(20, 96, 17) * 1e-20,
                 random_vectors(1200, 96, 18) * 1e-20});
  all.push_back({"in_thousands", random_vectors(300, 368, 19), random_vectors(3000, 368, 20)});
  return all;
}

TEST(ExactSearch, WhatVectorsAreMultipliedInChangesNothing) {
  if (!multiplies_bfloat16()) GTEST_SKIP() << "no instructions for bfloat16";
  for (const Case& c : cases_for_rounding()) {
    const ExactIndex index(c.gallery, c.metric);
    for (const std::int64_t k : {1, 50, 1190}) {
      SearchOptions options;
      options.k = k;
      options.products = Products::float32;
      const Neighbours expected = index.search(c.queries, options);
      for (const std::int64_t gallery_tile : {100, 1024}) {
        options.gallery_tile = gallery_tile;
        options.products = Products::bfloat16;
        EXPECT_EQ(index.search(c.queries, options), expected)
            << c.name << ", k = " << k << ", " << gallery_tile << " in a tile";
        options.products = Products::fastest;
        EXPECT_EQ(index.search(c.queries, options), expected) << c.name << ", k = " << k;
      }
    }
  }
}

/// Large enough that `fastest` begins in bfloat16, which leaves everything: so it begins again.
TEST(ExactSearch, BeginsAgainInFloat32WhereRoundingLeavesTooMuch) {
  const torch::Tensor gallery = random_vectors(2500, 128, 21) * 1e-4 + 1;
  const torch::Tensor queries = random_vectors(80, 128, 22);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const ExactIndex index(gallery, Metric::cosine);
  SearchOptions options;
  options.k = 5;
  const Neighbours found = index.search(queries, options);
  at::set_num_threads(threads);
  EXPECT_EQ(found, slow_search(queries, gallery, Metric::cosine, options));
}

TEST(RoundedVectors, HoldNoSubnormalNumbersAndKnowHowFarTheyMoved) {
  const torch::Tensor vectors = torch::tensor({{1.0F, 1.0F + 1.0F / 512, 0.0F, -2.0F},
                                               {1e-39F, -1e-39F, 0.0F, 0.0F},
                                               {0.0F, 0.0F, 0.0F, 0.0F}});
  const RoundedVectors rounded = round_to_bfloat16(vectors);
  EXPECT_TRUE(
      rounded.vectors.to(torch::kFloat32)
          .equal(torch::tensor(
              {{1.0F, 1.0F, 0.0F, -2.0F}, {0.0F, 0.0F, 0.0F, 0.0F}, {0.0F, 0.0F, 0.0F, 0.0F}})));
  ASSERT_EQ(rounded.moves.size(), 3U);
  EXPECT_EQ(rounded.moves[0], 1.0 / 512);
  EXPECT_NEAR(rounded.moves[1], std::sqrt(2) * 1e-39, 1e-44);
  EXPECT_EQ(rounded.moves[2], 0);
}

TEST(ExactSearch, IdenticalVectorsAreAtDistanceZeroExactly) {
  const torch::Tensor vectors = random_vectors(300, 100, 1) * 1000;
  for (const Metric metric : {Metric::squared_euclidean, Metric::cosine}) {
    SearchOptions options;
    options.k = 1;
    const Neighbours found = ExactIndex(vectors, metric).search(vectors, options);
    EXPECT_THAT(found.distances, Each(0.0F));
    for (std::int64_t q = 0; q < 300; ++q) EXPECT_EQ(found.rows[q], q);
  }
}

TEST(ExactSearch, MaskedEmbeddingsOfDifferentCategoriesAreAtDistanceTwoExactly) {
  torch::Tensor capsules = random_vectors(40 * 3, 16, 1).view({40, 3, 16});
  capsules = capsules / capsules.norm(2, 2, true);
  const torch::Tensor first = torch::zeros({40}, torch::kInt64);
  const torch::Tensor gallery = masked_embedding(capsules, first + 1);
  const torch::Tensor queries = masked_embedding(capsules, first);
  SearchOptions options;
  options.k = 4;
  const Neighbours found = ExactIndex(gallery, Metric::cosine).search(queries, options);
  EXPECT_THAT(found.distances, Each(2.0F));
  EXPECT_THAT(found.tied_beyond, Each(36));
  EXPECT_THAT(std::vector<std::int64_t>(found.rows.begin(), found.rows.begin() + 4),
              ElementsAre(0, 1, 2, 3));
}

TEST(ExactSearch, AnExcludedRowIsNotFoundEvenAmongDuplicatesOfIt) {
  torch::Tensor vectors = random_vectors(6, 8, 1);
  vectors[4].copy_(vectors[1]);  // a duplicate, at distance 0
  const std::vector<std::int64_t> itself{0, 1, 2, 3, 4, 5};
  SearchOptions options;
  options.k = 6;
  options.excluded_row = itself;
  const Neighbours found = ExactIndex(vectors, Metric::squared_euclidean).search(vectors, options);
  EXPECT_EQ(found.rows[1 * 6], 4);  // image 1 finds its duplicate, and the duplicate finds image 1
  EXPECT_EQ(found.rows[4 * 6], 1);
  EXPECT_EQ(found.distances[1 * 6], 0);
  for (std::int64_t q = 0; q < 6; ++q) {
    for (std::int64_t n = 0; n < 6; ++n) EXPECT_NE(found.rows[q * 6 + n], q);
    EXPECT_EQ(found.rows[q * 6 + 5], -1);  // five others are all there is
    EXPECT_TRUE(std::isinf(found.distances[q * 6 + 5]));
  }
}

TEST(ExactSearch, ManyMoreNeighboursThanTheGalleryHasReserveNothingForThem) {
  EXPECT_LE(QuerySearch::bytes(100000, 10), 4096);
  EXPECT_EQ(QuerySearch::bytes(100000, 10), QuerySearch::bytes(10, 10));
  EXPECT_GT(QuerySearch::bytes(100000, 1000000), 1 << 20);
  SearchOptions options;
  options.k = 100000;
  const torch::Tensor vectors = random_vectors(10, 4, 1);
  const Neighbours found = ExactIndex(vectors, Metric::squared_euclidean).search(vectors, options);
  EXPECT_EQ(found.rows.size(), 1000000);
  EXPECT_EQ(std::ranges::count(found.rows, -1), 10 * (100000 - 10));
}

TEST(ExactSearch, SearchesNothingForNoQueries) {
  const Neighbours found =
      ExactIndex(torch::ones({3, 4}), Metric::cosine).search(torch::empty({0, 4}), {});
  EXPECT_EQ(found.queries, 0);
  EXPECT_TRUE(found.rows.empty());
}

TEST(ExactSearch, RefusesVectorsThatCannotBeComparedAndNamesTheImage) {
  const auto name = [](std::int64_t row) { return "image_" + std::to_string(row) + ".jpg"; };
  torch::Tensor vectors = torch::ones({5, 3});
  vectors[3][1] = std::numeric_limits<float>::quiet_NaN();
  const auto index = [&] { ExactIndex(vectors, Metric::cosine, name); };
  EXPECT_REFUSED(index(), Fault::data,
                 "the embedding of 'image_3.jpg' has elements that are NaN or infinite");
  vectors[3][1] = std::numeric_limits<float>::infinity();
  EXPECT_REFUSED(index(), Fault::data,
                 "the embedding of 'image_3.jpg' has elements that are NaN or infinite");
  vectors[3].fill_(0);
  EXPECT_REFUSED(index(), Fault::data, "the embedding of 'image_3.jpg' is zero (length 0); cosine");
  const ExactIndex cosine(torch::ones({2, 3}), Metric::cosine);
  EXPECT_REFUSED(static_cast<void>(cosine.search(vectors, {}, name)), Fault::data,
                 "the embedding of 'image_3.jpg' is zero (length 0); cosine");
  const ExactIndex euclidean(torch::ones({2, 3}), Metric::squared_euclidean);
  vectors[3].fill_(1e20F);
  EXPECT_REFUSED(static_cast<void>(euclidean.search(vectors, {}, name)), Fault::data,
                 "the embedding of 'image_3.jpg' is too long");
}

TEST(ExactSearch, RefusesShapesThatDoNotFit) {
  const ExactIndex index(torch::ones({2, 3}), Metric::squared_euclidean);
  EXPECT_REFUSED(static_cast<void>(index.search(torch::ones({2, 4}), {})), Fault::data,
                 "the query vectors have 4 dimensions, the gallery's 3")
      << "of two models, not a bug";
  EXPECT_REFUSED(ExactIndex(torch::ones({2, 3}, torch::kFloat64), Metric::cosine), Fault::internal,
                 "the gallery vectors must be float32 [N,D]");
  EXPECT_REFUSED(ExactIndex(torch::ones({6}), Metric::cosine), Fault::internal, "[6]");
  SearchOptions options;
  options.k = 0;
  EXPECT_REFUSED(static_cast<void>(index.search(torch::ones({2, 3}), options)), Fault::internal,
                 "the tile sizes of a search must be at least 1");
}

TEST(InnerProduct, IsSummedInTheSameOrderForEveryLength) {
  const torch::Tensor values = random_vectors(2, 100, 1);
  const float* a = values.data_ptr<float>();
  const float* b = a + 100;
  for (std::int64_t count = 0; count <= 100; ++count) {
    std::vector<double> lanes(16);
    for (std::int64_t i = 0; i < count; ++i) {
      lanes[i % 16] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    EXPECT_EQ(inner_product(a, b, count), lanes[0]) << count;
  }
}

}  // namespace seam::stages::exact_search_test
