#include "reranking.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>
#include <set>
#include <utility>

namespace {

using seam::Tensor;
using seam::retrieval::Neighbours;
using seam::testing::Harness;
using Rows = std::vector<std::int64_t>;

seam::Packet batch(const Rows& ids, const Tensor& embedding) {
  seam::Packet packet;
  std::vector<std::string> items;
  std::vector<seam::Origin> origins;
  for (const std::int64_t id : ids) {
    items.push_back("item" + std::to_string(id % 3));
    origins.push_back({nullptr, 0, std::to_string(id) + ".jpg"});
  }
  packet.set(seam::field::items, items);
  packet.set(seam::field::indices, ids);
  packet.set(seam::field::origins, origins);
  packet.set(seam::field::embedding, embedding);
  return packet;
}

/// A gallery that is filled with these vectors, in this order.
class Filled {
 public:
  explicit Filled(const Tensor& vectors, const std::map<std::string, seam::Value>& parameters = {})
      : harness("gallery", std::make_unique<Reranking>()) {
    for (const auto& [key, value] : parameters) harness.set(key, value);
    Rows ids(vectors.size(0));
    std::iota(ids.begin(), ids.end(), 0);
    harness.push(batch(ids, vectors)).finish();
    EXPECT_TRUE(harness.errors().empty());
  }

  Neighbours search(const Tensor& queries, std::int64_t k, const Rows& excluded = {}) {
    void* const gallery = harness.runner().interface(seam::type_name<seam::retrieval::Gallery>());
    seam::retrieval::SearchRequest request;
    request.k = k;
    request.excluded_row = excluded;
    request.name_of_query = [](std::int64_t row) { return "query " + std::to_string(row); };
    return static_cast<seam::retrieval::Gallery*>(gallery)->search(queries, request);
  }

  Harness harness;
};

/// Around seven centres, none of unit length.
Tensor clustered(std::int64_t count, std::uint64_t seed) {
  torch::manual_seed(1);
  const Tensor centres = torch::randn({7, 6});
  torch::manual_seed(seed);
  return centres.repeat({count / 7 + 1, 1}).narrow(0, 0, count) + 0.7 * torch::randn({count, 6});
}

/// The paper's sets, element by element; element 0 is the query.
std::vector<double> slow_distances(const Tensor& elements, const KReciprocal& options) {
  const Tensor unit = torch::nn::functional::normalize(elements.to(torch::kFloat64));
  const Tensor distances = (unit.unsqueeze(0) - unit.unsqueeze(1)).square().sum(2).contiguous();
  const auto d = distances.accessor<double, 2>();
  const std::int64_t count = elements.size(0);
  std::vector<Rows> order(count, Rows(count));
  std::vector<double> largest(count, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::iota(order[i].begin(), order[i].end(), 0);
    std::ranges::stable_sort(order[i], {}, [&](std::int64_t j) { return j == i ? -1 : d[i][j]; });
    largest[i] = d[i][order[i].back()];
  }
  const auto within = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    const auto end = order[i].begin() + std::min(k + 1, count);
    return std::find(order[i].begin(), end, j) != end;
  };
  const auto reciprocal = [&](std::int64_t i, std::int64_t k) {
    std::set<std::int64_t> found;
    for (std::int64_t j = 0; j < count; ++j) {
      if (within(i, j, k) && within(j, i, k)) found.insert(j);
    }
    return found;
  };
  const auto half = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(options.k1) / 2));
  std::vector<std::vector<double>> encoding(count, std::vector<double>(count, 0));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::set<std::int64_t> own = reciprocal(i, options.k1);
    std::set<std::int64_t> all = own;
    for (const std::int64_t candidate : own) {
      const std::set<std::int64_t> theirs = reciprocal(candidate, half);
      const auto shared =
          std::ranges::count_if(theirs, [&](std::int64_t j) { return own.contains(j); });
      if (3 * shared > 2 * std::ssize(theirs)) all.insert(theirs.begin(), theirs.end());
    }
    double sum = 0;
    for (const std::int64_t j : all) sum += encoding[i][j] = std::exp(-d[i][j] / largest[i]);
    for (double& weight : encoding[i]) weight /= sum;
  }
  std::vector<double> result;
  for (std::int64_t g = 1; g < count; ++g) {
    double least = 0;
    double most = 0;
    for (std::int64_t at = 0; at < count; ++at) {
      double mine = 0;
      double theirs = 0;
      for (std::int64_t n = 0; n < options.k2; ++n) {
        mine += encoding[order[0][n]][at];
        theirs += encoding[order[g][n]][at];
      }
      least += std::min(mine, theirs);
      most += std::max(mine, theirs);
    }
    result.push_back((1 - options.lambda) * (1 - least / most) +
                     options.lambda * d[0][g] / largest[0]);
  }
  return result;
}

const auto conformance = seam::testing::conformance<Reranking>({
    .parameters = {{"k1", std::int64_t{3}}, {"k2", std::int64_t{2}}},
    .packets =
        [](Harness&) {
          return std::vector{batch({0, 1}, clustered(2, 2)), batch({2, 3, 4}, clustered(3, 3))};
        },
    .refused = {{{"k1", std::int64_t{2}}, {"k2", std::int64_t{3}}},
                {{"k1", std::int64_t{0}}, {"expand", std::int64_t{0}}}},
    .without_effect = {{"expand", "applied by searches in the gallery"},
                       {"alpha", "applied by searches in the gallery"},
                       {"lambda", "applied by searches in the gallery"},
                       {"depth", "applied by searches in the gallery"}},
});

TEST(Reranking, IsTheSameAsTheSlowWay) {
  const Tensor gallery = clustered(60, 2);
  const Tensor queries = clustered(20, 3);
  for (const KReciprocal& options : {KReciprocal{6, 3, 0.3}, {5, 1, 0.1}, {7, 7, 0}}) {
    Filled filled(gallery, {{"k1", options.k1}, {"k2", options.k2}, {"lambda", options.lambda}});
    const Neighbours found = filled.search(queries, 12);
    int moved = 0;
    for (std::int64_t q = 0; q < 20; ++q) {
      const Tensor all = torch::cat({queries.narrow(0, q, 1), gallery});
      std::vector<double> slow = slow_distances(all, options);
      const Tensor unit = torch::nn::functional::normalize(all);
      const auto nearest = unit.mv(unit[0]).narrow(0, 1, 60).argmax().item<std::int64_t>();
      moved += found.rows[q * 12] == nearest ? 0 : 1;
      for (std::int64_t n = 0; n < 12; ++n) {
        EXPECT_NEAR(found.distances[q * 12 + n], slow.at(found.rows[q * 12 + n]), 1e-6);
      }
      std::ranges::sort(slow);
      for (std::int64_t n = 0; n < 12; ++n) {
        EXPECT_NEAR(found.distances[q * 12 + n], slow[n], 1e-6) << "query " << q;
      }
    }
    EXPECT_GT(moved, 0) << "nothing was re-ranked";
  }
}

TEST(Reranking, ReRanksOnlyTheNearest) {
  const Tensor gallery = clustered(60, 2);
  const Tensor query = clustered(1, 3);
  Filled filled(gallery,
                {{"k1", std::int64_t{4}}, {"k2", std::int64_t{2}}, {"depth", std::int64_t{15}}});
  const Tensor unit = torch::nn::functional::normalize(gallery);
  const Tensor nearest = std::get<1>(unit.mv(torch::nn::functional::normalize(query)[0]).topk(15));
  const Tensor among = std::get<0>(nearest.sort());
  const std::vector<double> slow =
      slow_distances(torch::cat({query, gallery.index_select(0, among)}), {4, 2, 0.3});
  const Neighbours found = filled.search(query, 15);
  for (std::int64_t n = 0; n < 15; ++n) {
    const auto place = (among == found.rows[n]).nonzero().item<std::int64_t>();
    EXPECT_NEAR(found.distances[n], slow.at(place), 1e-6);
  }
  EXPECT_REFUSED(filled.search(query, 16), seam::Fault::configuration,
                 "16 neighbours, but only 15 are re-ranked");
}

TEST(Reranking, ExpandsByWeightedNeighbours) {
  const Tensor gallery = torch::tensor({{2.0F, 0.0F}, {0.6F, 0.8F}, {-1.0F, 0.0F}});
  for (const double alpha : {0.0, 2.0}) {
    Filled filled(gallery,
                  {{"expand", std::int64_t{1}}, {"alpha", alpha}, {"k1", std::int64_t{0}}});
    // Its nearest is (0.6, 0.8), at cosine 0.8.
    const Neighbours found = filled.search(torch::tensor({{0.0F, 3.0F}}), 3);
    const double weight = std::pow(0.8, alpha);
    const double x = 0.6 * weight;
    const double y = 1 + 0.8 * weight;
    const double length = std::hypot(x, y);
    EXPECT_EQ(found.rows, (Rows{1, 0, 2}));
    EXPECT_NEAR(found.distances[0], 2 - 2 * (0.6 * x + 0.8 * y) / length, 1e-6);
    EXPECT_NEAR(found.distances[1], 2 - 2 * x / length, 1e-6);
    EXPECT_NEAR(found.distances[2], 2 + 2 * x / length, 1e-6);
  }
}

TEST(Reranking, AQueryIsNeitherFoundNorAddedIfItIsExcluded) {
  const Tensor vectors = torch::tensor({{1.0F, 0.0F}, {0.8F, 0.6F}, {0.0F, 1.0F}});
  for (const std::int64_t k1 : {0, 2}) {
    Filled filled(vectors, {{"expand", std::int64_t{3}}, {"k1", k1}, {"k2", std::int64_t{1}}});
    const Neighbours found = filled.search(vectors.narrow(0, 0, 1), 3, {0});
    EXPECT_EQ(found.rows, (Rows{1, 2, -1}));
    EXPECT_TRUE(std::isinf(found.distances[2]));
    if (k1 > 0) continue;
    // (1, 0) + (0.8, 0.6) + (0, 1), without (1, 0) itself.
    EXPECT_NEAR(found.distances[1], 2 - 2 * 1.6 / std::hypot(1.8, 1.6), 1e-6);
  }
}

/// Their products are not all exactly 1, and depend on where a row lies in the matrix.
TEST(Reranking, EqualVectorsAreTied) {
  torch::manual_seed(4);
  const Tensor one = torch::rand({1, 100});
  const Tensor gallery = one.repeat({1003, 1});
  Rows ids(1003);
  std::iota(ids.begin(), ids.end(), 0);
  for (const Tensor& query : {one, torch::rand({1, 100})}) {
    Filled filled(gallery, {{"expand", std::int64_t{2}}, {"k1", std::int64_t{0}}});
    const Neighbours found = filled.search(query, 1003);
    EXPECT_EQ(found.rows, ids);
    EXPECT_EQ(found.distances.front(), found.distances.back());
    EXPECT_EQ(filled.search(query, 3).tied_beyond, (Rows{1000}));
    Filled re_ranked(gallery, {{"depth", std::int64_t{1003}}});
    EXPECT_EQ(re_ranked.search(query, 1003).rows, ids);
  }
  Filled filled(gallery, {{"expand", std::int64_t{2}}, {"k1", std::int64_t{0}}});
  EXPECT_EQ(filled.search(one, 1).distances, (std::vector<float>{0}));
}

TEST(Reranking, DependsOnNeitherBatchesNorThreads) {
  const Tensor gallery = clustered(300, 2);
  const Tensor queries = clustered(20, 3);
  const auto run = [&](std::int64_t size, int threads) {
    const int before = torch::get_num_threads();
    torch::set_num_threads(threads);
    Filled filled(gallery, {{"expand", std::int64_t{3}}, {"alpha", 2.0}});
    Rows rows;
    std::vector<float> distances;
    for (std::int64_t at = 0; at < 20; at += size) {
      const Neighbours found = filled.search(queries.narrow(0, at, std::min(size, 20 - at)), 30);
      rows.insert(rows.end(), found.rows.begin(), found.rows.end());
      distances.insert(distances.end(), found.distances.begin(), found.distances.end());
    }
    torch::set_num_threads(before);
    return std::pair(rows, distances);
  };
  const auto once = run(20, 1);
  EXPECT_EQ(once, run(20, 3));
  EXPECT_EQ(once, run(1, 1));
  EXPECT_EQ(once, run(3, 3));
}

TEST(Reranking, AnOppositeNeighbourIsNotAdded) {
  const Tensor gallery = torch::tensor({{1.0F, 0.0F}, {-0.6F, 0.8F}});
  for (const double alpha : {1.0, 3.0}) {
    Filled filled(gallery,
                  {{"expand", std::int64_t{2}}, {"alpha", alpha}, {"k1", std::int64_t{0}}});
    const Neighbours found = filled.search(torch::tensor({{1.0F, 0.0F}}), 2);
    EXPECT_EQ(found.distances[0], 0);
    EXPECT_NEAR(found.distances[1], 2 + 2 * 0.6, 1e-6);
  }
}

TEST(Reranking, NamesAQueryThatItsNeighbourCancels) {
  Filled filled(torch::tensor({{-1.0F, 0.0F}}),
                {{"expand", std::int64_t{1}}, {"k1", std::int64_t{0}}});  // alpha 0: weight 1
  EXPECT_REFUSED(filled.search(torch::tensor({{1.0F, 0.0F}}), 1), seam::Fault::data,
                 "the embedding of query 0, with its neighbours added, has length 0");
}

TEST(Reranking, WithoutTheQueryItselfIsTheSameAsTheSlowWay) {
  const Tensor gallery = clustered(40, 2);
  Filled filled(gallery,
                {{"k1", std::int64_t{6}}, {"k2", std::int64_t{3}}, {"depth", std::int64_t{39}}});
  for (const std::int64_t q : {0, 17, 39}) {
    const Tensor others = torch::cat({gallery.narrow(0, 0, q), gallery.narrow(0, q + 1, 39 - q)});
    std::vector<double> slow =
        slow_distances(torch::cat({gallery.narrow(0, q, 1), others}), {6, 3, 0.3});
    const Neighbours found = filled.search(gallery.narrow(0, q, 1), 40, {q});
    for (std::int64_t n = 0; n < 39; ++n) {
      const std::int64_t row = found.rows[n];
      ASSERT_NE(row, q);
      EXPECT_NEAR(found.distances[n], slow.at(row - (row > q ? 1 : 0)), 1e-6);
      EXPECT_LE(found.distances[std::max<std::int64_t>(n - 1, 0)], found.distances[n]);
    }
    EXPECT_EQ(found.rows[39], -1);
  }
}

TEST(Reranking, SaysThatTiesWithTheLastAreNotReRanked) {
  const auto lines = [](std::int64_t depth) {
    Filled filled(clustered(9, 2),
                  {{"k1", std::int64_t{2}}, {"k2", std::int64_t{1}}, {"depth", depth}});
    (void)filled.search(clustered(5, 3), 2);
    return std::ranges::count_if(filled.harness.log(), [](const seam::testing::LogLine& line) {
      return line.text.find("tied with the last of `depth`") != std::string::npos;
    });
  };
  EXPECT_EQ(lines(8), 1);
  EXPECT_EQ(lines(9), 0);
}

TEST(Reranking, SortsAndSavesItsImages) {
  Harness harness("gallery", std::make_unique<Reranking>());
  seam::Packet packet = batch({7, 2}, torch::tensor({{0.0F, 1.0F}, {1.0F, 0.0F}}));
  packet.set(seam::field::images, torch::zeros({2, 3, 24, 32}));
  packet.set(seam::Field<std::vector<std::filesystem::path>>{"paths", "*[N]"},
             std::vector<std::filesystem::path>{"/data/x/../7.jpg", ""});
  harness.set("expand", 10).set("alpha", 3).push(std::move(packet));
  harness.finish();
  Harness restored("gallery", std::make_unique<Reranking>());
  restored.set("expand", 10).set("alpha", 3).runner().load(harness.runner().save());
  const auto& gallery = *static_cast<seam::retrieval::Gallery*>(
      restored.runner().interface(seam::type_name<seam::retrieval::Gallery>()));
  ASSERT_TRUE(gallery.ready());
  const auto& images = dynamic_cast<const seam::retrieval::GalleryImages&>(gallery);
  EXPECT_EQ(images.files()[0], "");
  EXPECT_EQ(images.files()[1], "/data/7.jpg");
  EXPECT_EQ(to_string(gallery.input()), "24x32");
  EXPECT_EQ(gallery.rows()[0].id, 2);
  EXPECT_EQ(gallery.rows()[0].item, "item2");
  EXPECT_EQ(gallery.rows()[1].origin.text(), "7.jpg");
  EXPECT_EQ(gallery.method(), "exact/expand=alpha(10,3)/rerank=k-reciprocal(20,6,0.3)-of-200");
  EXPECT_EQ(gallery.search(torch::tensor({{1.0F, 0.1F}}), {.k = 1}).rows, (Rows{0}));
}

TEST(Reranking, RefusesWhatCannotBeCompared) {
  Harness harness("gallery", std::make_unique<Reranking>());
  harness.push(batch({0, 1}, torch::tensor({{1.0F, 0.0F}, {0.0F, 0.0F}})));
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_NE(std::string(harness.errors()[0].what()).find("1.jpg has length 0"), std::string::npos);
  Filled filled(torch::ones({3, 2}));
  EXPECT_REFUSED(filled.search(torch::ones({1, 3}), 1), seam::Fault::data, "3 elements");
  EXPECT_REFUSED(filled.search(torch::zeros({1, 2}), 1), seam::Fault::data, "query 0");
}

}  // namespace
