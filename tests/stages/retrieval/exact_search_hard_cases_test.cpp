/// Vectors that are hard to rank, against all pairs sorted: ties, differences in the last bit,
/// duplicates, subnormal and huge numbers, zeros; from one neighbour to more than exist.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/stages/retrieval/slow_search.hpp"

namespace seam::stages::exact_search_hard_cases_test {

using retrieval_test::random_vectors;
using retrieval_test::slow_search;

constexpr std::int64_t gallery_size = 800;
constexpr std::int64_t dimensions = 40;

struct HardCase {
  std::string name;
  torch::Tensor gallery;
  bool has_directions = true;  ///< so that cosine can compare them
};

/// Every row in one element, the next number of float32 up or down or none.
torch::Tensor moved_by_a_bit(const torch::Tensor& row) {
  torch::Tensor rows = row.repeat({gallery_size, 1});
  auto value = rows.accessor<float, 2>();
  for (std::int64_t i = 0; i < gallery_size; ++i) {
    float& moved = value[i][(i * 7) % dimensions];
    if (i % 3 != 0) moved = std::nextafter(moved, i % 3 == 1 ? 1e30F : -1e30F);
  }
  return rows;
}

/// Zero except for a range of each row, like masked embeddings.
torch::Tensor stretches(const torch::Tensor& rows) {
  torch::Tensor kept = torch::zeros_like(rows);
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const std::int64_t begin = i * 5 % (dimensions - 8);
    kept[i].narrow(0, begin, 8).copy_(rows[i].narrow(0, begin, 8));
  }
  return kept;
}

std::vector<HardCase> hard_cases() {
  const torch::Tensor normal = random_vectors(gallery_size, dimensions, 1);
  const torch::Tensor seven = random_vectors(7, dimensions, 2);
  const torch::Tensor any = torch::arange(gallery_size);
  const torch::Tensor powers = torch::pow(10.0, any.remainder(24) - 10).unsqueeze(1);
  torch::Tensor half_zero = normal.clone();
  half_zero.slice(0, 0, gallery_size, 2).zero_();
  torch::Tensor half_subnormal = normal.clone();
  half_subnormal.slice(0, 0, gallery_size, 2) *= 1e-41;
  return {
      {"normal", normal},
      {"all_equal", torch::ones({gallery_size, dimensions})},
      {"seven_vectors", seven.index_select(0, any.remainder(7))},
      {"each_twice", normal.index_select(0, any.remainder(gallery_size / 2))},
      {"last_bit", moved_by_a_bit(seven[0])},
      {"last_bit_of_far_ones", moved_by_a_bit(seven[0] + 1000)},
      {"grid", random_vectors(gallery_size, dimensions, 3).round().add_(0.5)},
      {"close_together", (normal * 1e-5 + seven[0]).to(torch::kFloat32)},
      {"stretches", stretches(normal + 3)},
      {"long", normal / normal.norm(2, 1, true) * 9e14},
      {"lengths_of_all_sizes", (normal * powers).to(torch::kFloat32)},
      {"half_are_zero", half_zero, false},
      {"all_are_zero", torch::zeros({gallery_size, dimensions}), false},
      {"subnormal", normal * 1e-41, false},
      {"half_are_subnormal", half_subnormal, false},
      {"products_underflow", normal * 1e-21, false},
  };
}

/// Each is searched leave-one-out, with a few rows as queries, in several ways.
TEST(ExactSearch, RanksWhatIsHardToRankAsAllPairsSorted) {
  const int threads = at::get_num_threads();
  std::vector<std::int64_t> itself(12);
  std::iota(itself.begin(), itself.end(), 0);
  std::vector<std::int64_t> item(gallery_size);
  for (std::size_t row = 0; row < item.size(); ++row) item[row] = static_cast<int>(row) % 5;
  for (const HardCase& c : hard_cases()) {
    const torch::Tensor queries = c.gallery.narrow(0, 0, 12);
    for (const Metric metric : {Metric::squared_euclidean, Metric::cosine}) {
      if (metric == Metric::cosine && !c.has_directions) continue;
      const ExactIndex index(c.gallery, metric);
      SearchOptions options;
      options.excluded_row = itself;
      options.query_item = std::span(item).subspan(0, 12);
      options.gallery_item = item;
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{5}, std::int64_t{60},
                                   std::int64_t{300}, gallery_size, gallery_size + 3}) {
        options.k = k;
        const Neighbours expected = slow_search(queries, c.gallery, metric, options);
        for (const Products products : {Products::float32, Products::bfloat16}) {
          options.products = products;
          for (const auto& [query_tile, gallery_tile] :
               std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 33}, {5, 256}, {256, 1024}}) {
            options.query_tile = query_tile;
            options.gallery_tile = gallery_tile;
            at::set_num_threads(query_tile == 5 ? 8 : 1);
            EXPECT_EQ(index.search(queries, options), expected)
                << c.name << ", " << to_string(metric) << ", k = " << k << ", tiles " << query_tile
                << " x " << gallery_tile;
          }
        }
      }
    }
  }
  at::set_num_threads(threads);
}

/// Bounds at a neighbour's distance, with its ties, and the next number below.
TEST(ExactSearch, RanksWhatIsHardToRankBeyondABound) {
  for (const HardCase& c : hard_cases()) {
    const torch::Tensor queries = c.gallery.narrow(0, 0, 12);
    const ExactIndex index(c.gallery, Metric::squared_euclidean);
    SearchOptions options;
    options.k = gallery_size;
    const Neighbours all = index.search(queries, options);
    for (const std::int64_t place : {std::int64_t{0}, std::int64_t{200}, gallery_size - 1}) {
      std::vector<float> bounds;
      for (std::int64_t query = 0; query < 12; ++query) {
        const float distance = all.distances[query * gallery_size + place];
        bounds.push_back(query % 2 == 0 ? distance : std::nextafter(distance, -1.0F));
      }
      options.farther_than = bounds;
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{60}, gallery_size}) {
        options.k = k;
        Neighbours expected = slow_search(queries, c.gallery, Metric::squared_euclidean, options);
        for (const Products products : {Products::float32, Products::bfloat16}) {
          options.products = products;
          EXPECT_EQ(index.search(queries, options), expected)
              << c.name << ", k = " << k << ", place " << place;
        }
      }
    }
  }
}

/// More pairs than the buffer for pending ones, with inconclusive scores: ranked in parts.
TEST(ExactSearch, RanksMoreThanCanBePending) {
  const torch::Tensor gallery = random_vectors(5000, 24, 4) * 1e-7 + 1;
  const torch::Tensor queries = random_vectors(5, 24, 5);
  for (const Metric metric : {Metric::squared_euclidean, Metric::cosine}) {
    const ExactIndex index(gallery, metric);
    for (const std::int64_t k : {1, 100, 700}) {
      SearchOptions options;
      options.k = k;
      const Neighbours expected = slow_search(queries, gallery, metric, options);
      for (const Products products : {Products::float32, Products::bfloat16}) {
        options.products = products;
        EXPECT_EQ(index.search(queries, options), expected) << to_string(metric) << ", k = " << k;
      }
    }
  }
}

}  // namespace seam::stages::exact_search_hard_cases_test
