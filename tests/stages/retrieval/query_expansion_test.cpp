#include "stages/retrieval/query_expansion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/normalization.h>

#include <cmath>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <string>
#include <vector>

#include "tests/stages/retrieval/batches.hpp"

namespace query_expansion_test {

using seam::Packet;
using seam::Tensor;
using seam::stages::Index;
using seam::stages::QueryExpansion;
using seam::stages::VectorGallery;
using seam::stages::retrieval_test::batch;
using seam::stages::retrieval_test::Retrieval;
using seam::stages::retrieval_test::Texts;
using seam::testing::Harness;
using ::testing::AllOf;
using ::testing::HasSubstr;

void expand_from(Harness& expansion, Harness& gallery) {
  void* found = gallery.runner().interface(seam::type_name<VectorGallery>());
  expansion.refer("index", *static_cast<VectorGallery*>(found));
}

/// Directions at 0°, 53° and 90°.
Packet three_directions() {
  return batch(0, {"shirt", "skirt", "dress"},
               torch::tensor({{1.F, 0.F}, {0.6F, 0.8F}, {0.F, 1.F}}));
}

std::shared_ptr<Harness> gallery_of(const Packet& packet, const std::string& metric = "cosine") {
  auto gallery = std::make_shared<Harness>("gallery", std::make_unique<Index>());
  gallery->set("metric", metric).push(packet).finish();
  EXPECT_TRUE(gallery->errors().empty());
  return gallery;
}

const auto conformance = seam::testing::conformance<QueryExpansion>({
    .parameters = {{"neighbours", std::int64_t{2}}},
    .packets = [](Harness&) { return std::vector{three_directions()}; },
    .connect =
        [](Harness& expansion) {
          auto gallery = gallery_of(three_directions());
          expand_from(expansion, *gallery);
          return gallery;
        },
});

/// The stage with its own gallery.
struct Expanding {
  explicit Expanding(const Packet& pictures, const std::string& metric = "cosine")
      : gallery(gallery_of(pictures, metric)) {
    expand_from(stage, *gallery);
  }
  std::shared_ptr<Harness> gallery;
  Harness stage{"expansion", std::make_unique<QueryExpansion>()};
};

/// The expansion of a query at 0°, which is not in the gallery.
Tensor expanded(std::int64_t neighbours, double alpha, bool exclude_self = false) {
  Expanding expanding(three_directions());
  expanding.stage.set("neighbours", neighbours).set("alpha", alpha);
  expanding.stage.set("exclude_self", exclude_self);
  expanding.stage.push(batch(0, {"shirt"}, torch::tensor({{2.F, 0.F}}))).finish();
  EXPECT_TRUE(expanding.stage.errors().empty());
  return expanding.stage.outputs().at(0).get(seam::field::embedding);
}

void expect_direction(const Tensor& embedding, double x, double y) {
  const double length = std::hypot(x, y);
  EXPECT_NEAR(embedding[0][0].item<double>(), x / length, 1e-7);
  EXPECT_NEAR(embedding[0][1].item<double>(), y / length, 1e-7);
}

TEST(QueryExpansion, AddsTheNearestOfUnitLength) {
  expect_direction(expanded(1, 0), 1, 0);
  expect_direction(expanded(2, 0), 1 + 1 + 0.6, 0.8);
  expect_direction(expanded(9, 0), 1 + 1 + 0.6, 0.8 + 1);  // the gallery has three
}

TEST(QueryExpansion, WeighsByPowersOfTheSimilarity) {
  expect_direction(expanded(2, 1), 1 + 1 + 0.6 * 0.6, 0.6 * 0.8);
  expect_direction(expanded(3, 3), 1 + 1 + 0.216 * 0.6, 0.216 * 0.8);  // 90° counts nothing
}

TEST(QueryExpansion, LeavesOutTheQuerysOwnPicture) {
  expect_direction(expanded(1, 0, true), 1 + 0.6, 0.8);
}

Packet random_pictures(std::int64_t first, std::int64_t count, const Tensor& vectors) {
  Texts items;
  for (std::int64_t i = 0; i < count; ++i) {
    items.push_back("item" + std::to_string((first + i) % 7));
  }
  return batch(first, items, vectors.narrow(0, first, count));
}

TEST(QueryExpansion, IsTheSameAsTheSlowWayForAnyBatchAndThreads) {
  torch::manual_seed(5);
  const Tensor vectors = torch::randn({60, 9});
  const auto run = [&](std::int64_t size, int threads) {
    const int before = torch::get_num_threads();
    torch::set_num_threads(threads);
    Expanding expanding(random_pictures(0, 60, vectors));
    expanding.stage.set("neighbours", 5).set("alpha", 2.0).set("exclude_self", true);
    for (std::int64_t first = 0; first < 60; first += size) {
      expanding.stage.push(random_pictures(first, size, vectors));
    }
    expanding.stage.finish();
    torch::set_num_threads(before);
    std::vector<Tensor> parts;
    for (const Packet& packet : expanding.stage.outputs()) {
      parts.push_back(packet.get(seam::field::embedding));
    }
    return torch::cat(parts);
  };
  const Tensor once = run(60, 1);
  EXPECT_TRUE(torch::equal(once, run(60, 8)));
  EXPECT_TRUE(torch::equal(once, run(12, 3)));

  const Tensor unit = torch::nn::functional::normalize(vectors.to(torch::kFloat64));
  const Tensor cosines = unit.mm(unit.t()).fill_diagonal_(-2);
  const auto [nearest, rows] = cosines.topk(5, 1);
  const Tensor weights = nearest.clamp_min(0).square();
  const Tensor sum = unit + (unit.index({rows}) * weights.unsqueeze(2)).sum(1);
  const Tensor expected = torch::nn::functional::normalize(sum);
  EXPECT_LT((once.to(torch::kFloat64) - expected).abs().max().item<double>(), 1e-6);
}

TEST(QueryExpansion, RefusesLengthsThatWouldCount) {
  const Packet longer = batch(0, {"a", "b"}, torch::tensor({{2.F, 0.F}, {0.F, 1.F}}));
  Expanding wrong(longer, "squared_euclidean");
  wrong.stage.push(batch(5, {"a"}, torch::tensor({{1.F, 0.F}}))).finish();
  ASSERT_EQ(wrong.stage.errors().size(), 1U);
  EXPECT_THAT(wrong.stage.errors()[0].full_message(),
              AllOf(HasSubstr("the gallery's row 0 has length 2"), HasSubstr("\"cosine\"")));

  Expanding right(three_directions(), "squared_euclidean");
  right.stage.push(batch(5, {"a"}, torch::tensor({{1.F, 0.F}}))).finish();
  EXPECT_TRUE(right.stage.errors().empty());
}

TEST(QueryExpansion, RefusesSumsWithoutDirection) {
  Expanding stages(batch(0, {"a"}, torch::tensor({{-1.F, 0.F}})));
  stages.stage.push(batch(5, {"b"}, torch::tensor({{1.F, 0.F}}))).finish();
  ASSERT_EQ(stages.stage.errors().size(), 1U);
  EXPECT_THAT(stages.stage.errors()[0].full_message(),
              AllOf(HasSubstr("list.txt:6"), HasSubstr("add up to zero")));
}

/// Index, expansion, search and recall.
struct Evaluated {
  std::string search_error;
  std::string report;
};

Evaluated evaluated(bool same_index, bool expansion_excludes, bool search_excludes) {
  const auto pictures = [] {
    return batch(0, {"a", "a", "b", "b"},
                 torch::tensor({{1.F, 0.F}, {0.9F, 0.1F}, {0.F, 1.F}, {0.1F, 0.9F}}));
  };
  Retrieval stages;
  stages.index.set("metric", "cosine").push(pictures()).finish();
  const auto other = gallery_of(pictures());
  Harness expansion("expansion", std::make_unique<QueryExpansion>());
  expand_from(expansion, same_index ? stages.index : *other);
  expansion.set("neighbours", 2).set("exclude_self", expansion_excludes);
  expansion.push(pictures()).finish();
  EXPECT_TRUE(expansion.errors().empty());
  stages.search.set("k", 2).set("exclude_self", search_excludes);
  stages.recall.set("k", std::vector<std::int64_t>{1, 2});
  for (Packet& packet : expansion.take_outputs()) stages.search.push(std::move(packet));
  stages.search.finish();
  if (!stages.search.errors().empty()) return {stages.search.errors()[0].full_message(), ""};
  for (Packet& packet : stages.search.take_outputs()) stages.recall.push(std::move(packet));
  stages.recall.finish();
  return {"", stages.recall.reports().at(0).text};
}

TEST(QueryExpansion, IsPartOfTheProtocol) {
  const Evaluated result = evaluated(true, true, true);
  EXPECT_EQ(result.search_error, "");
  EXPECT_THAT(result.report,
              AllOf(HasSubstr("/search=exact/expand=average(2)/cosine/"),
                    HasSubstr("**Not comparable with published numbers:** neighbours found by "
                              "exact/expand=average(2)")));
}

TEST(QueryExpansion, FitsTheSearchBehindIt) {
  EXPECT_THAT(evaluated(false, true, true).search_error, HasSubstr("the same `index`"));
  EXPECT_THAT(evaluated(true, false, true).search_error, HasSubstr("`exclude_self`"));
  EXPECT_THAT(evaluated(true, true, false).search_error, HasSubstr("`exclude_self`"));
}

TEST(QueryExpansion, IsNotForGalleries) {
  Expanding expanding(three_directions());
  expanding.stage.push(three_directions()).finish();
  Harness index("gallery", std::make_unique<Index>());
  index.push(expanding.stage.outputs().at(0));
  ASSERT_EQ(index.errors().size(), 1U);
  EXPECT_THAT(index.errors()[0].full_message(), HasSubstr("which is for queries"));
}

}  // namespace query_expansion_test
