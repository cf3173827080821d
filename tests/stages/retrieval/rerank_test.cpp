#include "stages/retrieval/rerank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/normalization.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/stages/retrieval/batches.hpp"

namespace rerank_test {

using seam::Packet;
using seam::Tensor;
using seam::retrieval::Ranking;
using seam::retrieval::Rankings;
using seam::stages::Index;
using seam::stages::KReciprocal;
using seam::stages::Rerank;
using seam::stages::Search;
using seam::stages::retrieval_test::batch;
using seam::stages::retrieval_test::of_list;
using seam::stages::retrieval_test::refer_to;
using seam::stages::retrieval_test::rerank_from;
using seam::stages::retrieval_test::Retrieval;
using seam::stages::retrieval_test::Texts;
using seam::testing::Harness;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Texts items_of(std::int64_t count) {
  Texts items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back("item" + std::to_string(i % 7));
  return items;
}

/// Vectors around seven centres, none of unit length.
Tensor clustered(std::int64_t count, std::uint64_t seed) {
  torch::manual_seed(1);
  const Tensor centres = torch::randn({7, 6});
  torch::manual_seed(seed);
  return centres.repeat({count / 7 + 1, 1}).narrow(0, 0, count) + 0.7 * torch::randn({count, 6});
}

struct Setting {
  std::string metric = "cosine";
  std::int64_t k = 12;
  KReciprocal options{6, 3, 0.3};
  bool one_list = false;  ///< the gallery's pictures are the queries
  std::int64_t batch_size = 20;
};

/// The rows of each query's neighbours, ascending.
std::vector<std::int64_t> sorted_rows(const Rankings& rankings) {
  const seam::retrieval::Neighbours& found = rankings.by_mask.at(0).neighbours;
  std::vector<std::int64_t> rows = found.rows;
  for (auto at = rows.begin(); at != rows.end(); at += found.k) std::sort(at, at + found.k);
  return rows;
}

/// The neighbours must be those that the search found, in any order.
std::vector<Rankings> reranked(const Tensor& gallery, const Tensor& queries,
                               const Setting& setting) {
  Harness index("gallery", std::make_unique<Index>());
  index.set("metric", setting.metric);
  index.push(batch(0, items_of(gallery.size(0)), gallery)).finish();
  Harness search("search", std::make_unique<Search>());
  refer_to(search, index);
  search.set("k", setting.k).set("exclude_self", setting.one_list);
  Harness rerank("rerank", std::make_unique<Rerank>());
  rerank_from(rerank, index);
  rerank.set("k1", setting.options.k1).set("k2", setting.options.k2);
  rerank.set("lambda", setting.options.lambda);
  const Texts items = items_of(queries.size(0));
  for (std::int64_t first = 0; first < queries.size(0); first += setting.batch_size) {
    const std::int64_t count = std::min(setting.batch_size, queries.size(0) - first);
    const Texts some(items.begin() + first, items.begin() + first + count);
    search.push(batch(first, some, queries.narrow(0, first, count)));
  }
  search.finish();
  EXPECT_TRUE(search.errors().empty());
  std::vector<Rankings> before;
  for (Packet& packet : search.take_outputs()) {
    before.push_back(std::as_const(packet)[seam::field::rankings]);
    rerank.push(std::move(packet));
  }
  rerank.finish();
  EXPECT_TRUE(rerank.errors().empty()) << rerank.errors()[0].full_message();
  std::vector<Rankings> results;
  for (const Packet& packet : rerank.outputs()) {
    results.push_back(packet.get(seam::field::rankings));
  }
  EXPECT_EQ(results.size(), before.size());
  for (std::size_t i = 0; i < std::min(results.size(), before.size()); ++i) {
    EXPECT_EQ(sorted_rows(results[i]), sorted_rows(before[i])) << "batch " << i;
  }
  return results;
}

/// The definitions as matrices over all elements, element 0 the query: no set is looked up, nothing
/// is left out.
std::vector<double> slow_distances(const Tensor& elements, const std::string& metric,
                                   const KReciprocal& options) {
  const Tensor wide = elements.to(torch::kFloat64);
  const Tensor vectors = metric == "cosine" ? torch::nn::functional::normalize(wide) : wide;
  const Tensor distances =
      (vectors.unsqueeze(0) - vectors.unsqueeze(1)).square().sum(2).contiguous();
  const auto d = distances.accessor<double, 2>();
  const auto count = static_cast<std::size_t>(elements.size(0));
  std::vector<double> largest(count, 0);
  std::vector<std::vector<std::size_t>> order(count, std::vector<std::size_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    std::iota(order[i].begin(), order[i].end(), std::size_t{0});
    std::stable_sort(order[i].begin(), order[i].end(), [&](std::size_t a, std::size_t b) {
      return (a == i ? -1 : d[i][a]) < (b == i ? -1 : d[i][b]);
    });
    for (std::size_t j = 0; j < count; ++j) largest[i] = std::max(largest[i], d[i][j]);
  }
  const auto within = [&](std::size_t i, std::size_t j, std::int64_t k) {
    const auto end = order[i].begin() + std::min<std::int64_t>(k + 1, count);
    return std::find(order[i].begin(), end, j) != end;
  };
  const auto reciprocal = [&](std::size_t i, std::int64_t k) {
    std::set<std::size_t> found;
    for (std::size_t j = 0; j < count; ++j) {
      if (within(i, j, k) && within(j, i, k)) found.insert(j);
    }
    return found;
  };
  const auto half = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(options.k1) / 2));
  std::vector<std::vector<double>> encoding(count, std::vector<double>(count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    const std::set<std::size_t> own = reciprocal(i, options.k1);
    std::set<std::size_t> all = own;
    for (const std::size_t candidate : own) {
      const std::set<std::size_t> theirs = reciprocal(candidate, half);
      std::vector<std::size_t> shared;
      std::set_intersection(own.begin(), own.end(), theirs.begin(), theirs.end(),
                            std::back_inserter(shared));
      if (3 * shared.size() > 2 * theirs.size()) all.insert(theirs.begin(), theirs.end());
    }
    double sum = 0;
    for (const std::size_t j : all) sum += encoding[i][j] = std::exp(-d[i][j] / largest[i]);
    for (double& weight : encoding[i]) weight /= sum;
  }
  std::vector<std::vector<double>> mean(count, std::vector<double>(count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::int64_t n = 0; n < options.k2; ++n) {
      for (std::size_t j = 0; j < count; ++j) {
        mean[i][j] +=
            encoding[order[i][static_cast<std::size_t>(n)]][j] / static_cast<double>(options.k2);
      }
    }
  }
  std::vector<double> result;
  for (std::size_t j = 1; j < count; ++j) {
    double least = 0;
    double most = 0;
    for (std::size_t at = 0; at < count; ++at) {
      least += std::min(mean[0][at], mean[j][at]);
      most += std::max(mean[0][at], mean[j][at]);
    }
    result.push_back((1 - options.lambda) * (1 - least / most) +
                     options.lambda * d[0][j] / largest[0]);
  }
  return result;
}

void expect_as_the_slow_way(const Setting& setting) {
  const Tensor gallery = clustered(60, 2);
  const Tensor queries = setting.one_list ? gallery : clustered(20, 3);
  std::int64_t q = 0;
  int moved = 0;
  for (const Rankings& rankings : reranked(gallery, queries, setting)) {
    const Ranking& ranking = rankings.by_mask.at(0);
    for (std::size_t row = 0; row < rankings.item.size(); ++row, ++q) {
      std::vector<std::int64_t> others;
      for (std::int64_t g = 0; g < gallery.size(0); ++g) {
        if (!setting.one_list || g != q) others.push_back(g);
      }
      const Tensor all =
          torch::cat({queries.narrow(0, q, 1), gallery.index_select(0, torch::tensor(others))});
      const std::vector<double> slow = slow_distances(all, setting.metric, setting.options);
      double last = -1;
      for (std::int64_t n = 0; n < setting.k; ++n) {
        const std::size_t at =
            row * static_cast<std::size_t>(setting.k) + static_cast<std::size_t>(n);
        const std::int64_t found = ranking.neighbours.rows[at];
        const auto place = std::find(others.begin(), others.end(), found) - others.begin();
        const double expected = slow.at(static_cast<std::size_t>(place));
        EXPECT_NEAR(ranking.neighbours.distances[at], expected, 1e-6) << "query " << q;
        EXPECT_GE(expected, last - 1e-6);
        EXPECT_EQ(ranking.items[at], found % 7);
        last = expected;
      }
      const std::vector<std::int64_t> first(
          ranking.neighbours.rows.begin() + static_cast<std::ptrdiff_t>(row) * setting.k,
          ranking.neighbours.rows.begin() + static_cast<std::ptrdiff_t>(row + 1) * setting.k);
      const Tensor plain = setting.metric == "cosine" ? torch::nn::functional::normalize(all) : all;
      const Tensor order = (plain.narrow(0, 1, plain.size(0) - 1) - plain[0]).square().sum(1);
      if (others[static_cast<std::size_t>(order.argmin().item<std::int64_t>())] != first[0]) {
        ++moved;
      }
    }
  }
  EXPECT_EQ(q, queries.size(0));
  EXPECT_GT(moved, 0) << "nothing was re-ranked";
}

const auto conformance = seam::testing::conformance<Rerank>({
    .parameters = {{"k1", std::int64_t{6}}, {"k2", std::int64_t{3}}},
    .packets =
        [](Harness&) {
          Harness index("gallery", std::make_unique<Index>());
          index.push(batch(0, items_of(20), clustered(20, 2))).finish();
          Harness search("search", std::make_unique<Search>());
          refer_to(search, index);
          search.set("k", 8).push(batch(0, items_of(5), clustered(5, 3))).finish();
          return search.take_outputs();
        },
    .connect =
        [](Harness& rerank) {
          auto index = std::make_shared<Harness>("gallery", std::make_unique<Index>());
          index->push(batch(0, items_of(20), clustered(20, 2))).finish();
          rerank_from(rerank, *index);
          return index;
        },
    .refused = {{{"k1", std::int64_t{2}}, {"k2", std::int64_t{3}}}},
});

TEST(Rerank, IsTheSameAsTheSlowWay) {
  for (const char* metric : {"cosine", "squared_euclidean"}) {
    expect_as_the_slow_way({.metric = metric});
    expect_as_the_slow_way({.metric = metric, .options = {5, 1, 0.1}});  // 5 / 2 is rounded to 2
    expect_as_the_slow_way({.metric = metric, .k = 59, .options = {7, 7, 0}, .one_list = true});
  }
}

TEST(Rerank, DependsOnNeitherBatchNorThreads) {
  const Tensor gallery = clustered(60, 2);
  const auto run = [&](std::int64_t size, int threads) {
    const int before = torch::get_num_threads();
    torch::set_num_threads(threads);
    const std::vector<Rankings> results = reranked(gallery, clustered(20, 3), {.batch_size = size});
    torch::set_num_threads(before);
    std::vector<std::int64_t> rows;
    std::vector<float> distances;
    for (const Rankings& rankings : results) {
      const auto& found = rankings.by_mask.at(0).neighbours;
      rows.insert(rows.end(), found.rows.begin(), found.rows.end());
      distances.insert(distances.end(), found.distances.begin(), found.distances.end());
    }
    return std::pair(rows, distances);
  };
  const auto once = run(20, 1);
  EXPECT_EQ(once, run(20, 8));
  EXPECT_EQ(once, run(3, 2));
}

TEST(Rerank, WithTheWholeOriginalDistanceKeepsTheOrder) {
  const Tensor gallery = clustered(30, 2);
  const std::vector<Rankings> results =
      reranked(gallery, clustered(5, 3), {.k = 10, .options = {6, 3, 1}});
  const Tensor unit = torch::nn::functional::normalize(gallery);
  const Tensor query = torch::nn::functional::normalize(clustered(5, 3));
  const Tensor expected = std::get<1>(query.mm(unit.t()).topk(10, 1)).flatten().contiguous();
  const std::int64_t* const rows = expected.data_ptr<std::int64_t>();
  EXPECT_EQ(results.at(0).by_mask.at(0).neighbours.rows,
            std::vector<std::int64_t>(rows, rows + 50));
}

TEST(Rerank, HandlesSmallGalleriesAndEqualVectors) {
  // Four images, but k1 + 1 = 7 neighbours are requested, all at the same position.
  const std::vector<Rankings> results =
      reranked(torch::ones({4, 3}), torch::ones({2, 3}),
               {.metric = "squared_euclidean", .k = 6, .options = {6, 3, 0.3}});
  const auto& found = results.at(0).by_mask.at(0).neighbours;
  EXPECT_THAT(std::vector<std::int64_t>(found.rows.begin(), found.rows.begin() + 6),
              ElementsAre(0, 1, 2, 3, -1, -1));
  for (int n = 0; n < 4; ++n) EXPECT_FALSE(std::isnan(found.distances[n]));
  EXPECT_TRUE(std::isinf(found.distances[4]));
}

TEST(Rerank, IsPartOfTheProtocol) {
  Retrieval stages;
  const Tensor gallery = clustered(30, 2);
  stages.index.set("metric", "cosine").push(batch(0, items_of(30), gallery)).finish();
  Harness rerank("rerank", std::make_unique<Rerank>());
  rerank_from(rerank, stages.index);
  stages.search.set("k", 25).set("exclude_self", true);
  stages.search.push(batch(0, items_of(30), gallery)).finish();
  for (Packet& packet : stages.search.take_outputs()) rerank.push(std::move(packet));
  rerank.finish();
  ASSERT_TRUE(rerank.errors().empty()) << rerank.errors()[0].full_message();
  stages.recall.set("k", std::vector<std::int64_t>{1, 20});
  for (Packet& packet : rerank.take_outputs()) stages.recall.push(std::move(packet));
  stages.recall.finish();
  EXPECT_THAT(stages.recall.reports().at(0).text,
              AllOf(HasSubstr("/search=exact/rerank=k-reciprocal(20,6,0.3)-of-25/cosine/"),
                    HasSubstr("**Not comparable with published numbers:** neighbours found by")));
}

TEST(Rerank, WarnsOfTiesOncePerFlow) {
  Harness gallery("gallery", std::make_unique<Index>());
  gallery.push(batch(0, {"a", "b", "c", "d"}, torch::ones({4, 2}))).finish();
  Harness search("search", std::make_unique<Search>());
  refer_to(search, gallery);
  search.set("k", 2);
  for (const std::int64_t first : {0, 1}) {
    search.push(of_list("queries.txt", batch(first, {"a"}, torch::ones({1, 2}))));
  }
  search.finish();
  Harness rerank("rerank", std::make_unique<Rerank>());
  rerank_from(rerank, gallery);
  rerank.set("k1", 2).set("k2", 1).push_all(search.take_outputs()).finish();
  const auto about_ties = [](const seam::testing::LogLine& line) {
    return line.text.find("exactly the same distance") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(rerank.log(), about_ties), 1);
}

/// Constant embeddings: every neighbour is tied, and which of them the search found is chance.
TEST(Rerank, LeavesNoBoundsOverTies) {
  Retrieval stages;
  stages.index.push(batch(0, {"a", "b", "c", "d"}, torch::ones({4, 2}))).finish();
  stages.search.set("k", 2);
  stages.search.push(of_list("queries.txt", batch(0, {"a", "d"}, torch::ones({2, 2})))).finish();
  stages.recall.set("k", std::vector<std::int64_t>{1, 2});
  for (Packet& packet :
       seam::stages::retrieval_test::reranked(stages.index, stages.search.take_outputs())) {
    stages.recall.push(std::move(packet));
  }
  stages.recall.finish();
  ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
  EXPECT_EQ(stages.recall.metric("none.r@1"), 0.5);
  EXPECT_EQ(stages.recall.metric("none.mrr@2"), 0.5);
  for (const auto& [name, values] : stages.recall.metrics()) {
    EXPECT_FALSE(name.ends_with(".optimistic") || name.ends_with(".pessimistic")) << name;
  }
  EXPECT_THAT(stages.recall.reports().at(0).text,
              AllOf(HasSubstr("Re-ranked: without bounds over ties"), Not(HasSubstr("lucky")),
                    Not(HasSubstr("In parentheses"))));
}

std::string error_with(const std::function<void(Packet&)>& change, const Tensor& gallery) {
  Harness searched("gallery", std::make_unique<Index>());
  searched.push(batch(0, items_of(20), clustered(20, 2))).finish();
  Harness search("search", std::make_unique<Search>());
  refer_to(search, searched);
  search.set("k", 8).push(batch(0, items_of(5), clustered(5, 3))).finish();
  Harness index("gallery", std::make_unique<Index>());
  index.push(batch(0, items_of(gallery.size(0)), gallery)).finish();
  Harness rerank("rerank", std::make_unique<Rerank>());
  rerank_from(rerank, index);
  rerank.set("k1", 6).set("k2", 3);
  Packet packet = search.take_outputs().at(0);
  change(packet);
  rerank.push(std::move(packet)).finish();
  return rerank.errors().empty() ? "no error" : rerank.errors()[0].full_message();
}

TEST(Rerank, RefusesNeighboursOfAnotherSearch) {
  const auto nothing = [](Packet&) {};
  EXPECT_EQ(error_with(nothing, clustered(20, 2)), "no error");
  EXPECT_THAT(error_with(nothing, clustered(21, 2)), HasSubstr("a gallery of 20 images"));
  EXPECT_THAT(error_with(nothing, clustered(20, 4)), HasSubstr("must have the same `index`"));
  EXPECT_THAT(error_with([](Packet& p) { p.set(seam::field::embedding, clustered(5, 9)); },
                         clustered(20, 2)),
              AllOf(HasSubstr("a neighbour of query list.txt:1 (item0) is at distance"),
                    HasSubstr("the embedding must be that of the search")));
  const auto change_two = [](Packet& p) {
    Tensor moved = std::as_const(p)[seam::field::embedding].clone();
    moved.slice(0, 2, 4).add_(9);
    p.set(seam::field::embedding, moved);
  };
  EXPECT_THAT(error_with(change_two, clustered(20, 2)), HasSubstr("of query list.txt:3 (item2)"));
  EXPECT_THAT(error_with(
                  [](Packet& p) {
                    Rankings rankings = std::as_const(p)[seam::field::rankings];
                    rankings.method += "/rerank=k-reciprocal(1,1,1)";
                    p.set(seam::field::rankings, rankings);
                  },
                  clustered(20, 2)),
              HasSubstr("already re-ranked"));
}

}  // namespace rerank_test
