#include "stages/retrieval/sequences.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <seam/gallery.hpp>
#include <seam/refusal_testing.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/stages/retrieval/batches.hpp"
#include "tests/stages/retrieval/other_peoples_stages.hpp"

namespace seam::stages::sequences_test {

using retrieval::Neighbours;
using retrieval_test::batch;
using retrieval_test::Retrieval;
using retrieval_test::Texts;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Sequences, KnowTheirRows) {
  const Texts of_rows{"a", "", "b", "a"};
  const Sequences sequences(of_rows);
  EXPECT_TRUE(sequences.known());
  EXPECT_THAT(sequences.rows_of("a"), ElementsAre(0, 3));
  EXPECT_THAT(sequences.rows_of(""), IsEmpty());
  EXPECT_THAT(sequences.rows_of("c"), IsEmpty());
  const Texts none{"", ""};
  EXPECT_FALSE(Sequences(none).known());
}

/// One distance for each query and row, of few values so that many are tied.
struct Table {
  std::vector<std::vector<float>> distances;
  std::vector<std::int64_t> item_of_row;
  std::vector<std::int64_t> item_of_query;
};

/// The result of a gallery without the rows in `left_out`.
Neighbours nearest(const Table& table, const LeftOut& left_out, std::int64_t k) {
  Neighbours found;
  found.queries = static_cast<std::int64_t>(table.distances.size());
  found.k = k;
  for (std::size_t query = 0; query < table.distances.size(); ++query) {
    std::vector<std::pair<float, std::int64_t>> ranked;
    for (std::size_t row = 0; row < table.item_of_row.size(); ++row) {
      const auto at = static_cast<std::int64_t>(row);
      if (std::ranges::count(left_out[query], at) == 0) {
        ranked.emplace_back(table.distances[query][row], at);
      }
    }
    std::ranges::sort(ranked);
    const auto size = static_cast<std::int64_t>(ranked.size());
    std::int64_t tied = 0;
    std::int64_t relevant = 0;
    for (std::int64_t i = 0; i < std::max(k, size); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i < k) {
        found.rows.push_back(i < size ? ranked[at].second : -1);
        found.distances.push_back(i < size ? ranked[at].first
                                           : std::numeric_limits<float>::infinity());
      } else if (ranked[at].first == ranked[static_cast<std::size_t>(k - 1)].first) {
        ++tied;
        const auto row = static_cast<std::size_t>(ranked[at].second);
        relevant += table.item_of_row[row] == table.item_of_query[query] ? 1 : 0;
      }
    }
    found.tied_beyond.push_back(tied);
    found.tied_beyond_relevant.push_back(relevant);
  }
  return found;
}

TEST(Sequences, WhatIsLeftOutMightAsWellNotBeInTheGallery) {
  std::mt19937 random(3);
  const auto below = [&](std::size_t most) { return random() % most; };
  for (const std::size_t values : {1U, 3U, 40U}) {
    for (const std::int64_t k : {1, 4, 29, 35}) {
      Table table;
      table.distances.resize(8);
      LeftOut left_out(table.distances.size());
      for (int row = 0; row < 30; ++row) {
        table.item_of_row.push_back(static_cast<std::int64_t>(below(4)));
      }
      for (std::size_t query = 0; query < table.distances.size(); ++query) {
        table.item_of_query.push_back(static_cast<std::int64_t>(below(4)));
        for (std::int64_t row = 0; row < 30; ++row) {
          table.distances[query].push_back(static_cast<float>(below(values)));
          if (below(8) < query) left_out[query].push_back(row);  // none of the first query
        }
      }
      const LeftOut nothing(table.distances.size());
      const Neighbours found =
          nearest_without(left_out, k, {table.item_of_query, table.item_of_row},
                          [&](std::int64_t ask) { return nearest(table, nothing, ask); });
      EXPECT_EQ(found, nearest(table, left_out, k)) << values << " values, k = " << k;
    }
  }
}

Packet with_sequences(Packet packet, const Texts& sequences) {
  packet.set(field::sequences, sequences);
  return packet;
}

TEST(SearchStage, LeavesOutItsOwnSequence) {
  Retrieval stages;
  stages.search.set("exclude_sequence", true).set("k", 3);
  stages.recall.set("k", std::vector<std::int64_t>{1, 3});
  stages.index
      .push(with_sequences(batch(0, {"coat", "coat", "hat", "coat"},
                                 torch::tensor({{1.0F}, {2.0F}, {3.0F}, {9.0F}})),
                           {"monday", "monday", "tuesday", ""}))
      .finish();
  // Nearest is 0, of the same sequence, as is 1; then 2, another item, and 3.
  stages.evaluate({with_sequences(batch(0, {"coat"}, torch::tensor({{1.1F}})), {"monday"})});
  ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
  EXPECT_EQ(stages.recall.metric("none.r@1"), 0);
  EXPECT_EQ(stages.recall.metric("none.r@3"), 1);
  EXPECT_EQ(stages.recall.metric("none.r_precision"), 0) << "one of the two that are left";
  EXPECT_EQ(stages.recall.metric("none.r@1.chance"), 0.5);
  EXPECT_THAT(stages.recall.reports().at(0).text, HasSubstr("search=exact/sequence=left-out"));
}

TEST(SearchStage, LeavesOutItselfAndItsSequenceOnce) {
  Retrieval stages;
  stages.search.set("exclude_sequence", true).set("exclude_self", true).set("k", 2);
  stages.recall.set("k", std::vector<std::int64_t>{1, 2});
  const Packet list =
      with_sequences(batch(0, {"coat", "coat", "coat"}, torch::tensor({{1.0F}, {2.0F}, {4.0F}})),
                     {"monday", "monday", "tuesday"});
  stages.index.push(list).finish();
  stages.search.push(list);
  stages.search.finish();
  const std::vector<Packet> found = stages.search.take_outputs();
  ASSERT_EQ(found.size(), 1U);
  const retrieval::Rankings& rankings = found[0][field::rankings];
  EXPECT_THAT(rankings.relevant, ElementsAre(1, 1, 2));
  EXPECT_THAT(rankings.by_mask[0].neighbours.rows, ElementsAre(2, -1, 2, -1, 1, 0));
  EXPECT_THAT(found[0][field::searched_gallery].images, ElementsAre(1, 1, 2));
}

TEST(SearchStage, RefusesToLeaveOutSequencesThatNobodyServed) {
  Retrieval stages;
  stages.search.set("exclude_sequence", true);
  stages.index.push(batch(0, {"coat"}, torch::ones({1, 2}))).finish();
  EXPECT_REFUSED(
      stages.search.push(with_sequences(batch(5, {"coat"}, torch::ones({1, 2})), {"monday"})),
      Fault::configuration, "no image of the gallery has a sequence; provide a column `sequence`");
}

TEST(SearchStage, RefusesSequencesThatTheGalleryDoesNotHave) {
  const auto error_with = [](const std::string& sequence) {
    Retrieval stages;
    stages.search.set("exclude_sequence", true);
    stages.index.push(with_sequences(batch(0, {"coat"}, torch::ones({1, 2})), {"7"})).finish();
    stages.search.push(with_sequences(batch(5, {"coat"}, torch::ones({1, 2})), {sequence}));
    stages.search.finish();
    return stages.search.errors().empty() ? "" : std::string(stages.search.errors()[0].what());
  };
  EXPECT_EQ(error_with("7"), "");
  EXPECT_THAT(error_with("video7"), HasSubstr("any query's sequence, such as 'video7'"));
  EXPECT_THAT(error_with(""), HasSubstr("no query has a sequence"));
}

/// A gallery of another plugin that keeps sequences.
class Sequenced final : public other_people::CityBlock, public retrieval::GalleryImages {
 public:
  explicit Sequenced(std::string method) : method_(std::move(method)) {}
  [[nodiscard]] std::string method() const override { return method_; }
  [[nodiscard]] std::span<const std::string> files() const override { return texts_; }
  [[nodiscard]] std::span<const std::string> sequences() const override { return texts_; }

 private:
  std::string method_;
  Texts texts_{"monday", "tuesday"};
};

TEST(SearchStage, RefusesToLeaveOutSequencesOfResultsThatDependOnThem) {
  const auto search = [](const std::string& method) {
    Retrieval stages(std::make_unique<Sequenced>(method));
    stages.search.set("exclude_sequence", true).set("k", 1);
    stages.index.push(batch(0, {"coat", "coat"}, torch::tensor({{1.0F}, {2.0F}}))).finish();
    stages.search.push(with_sequences(batch(5, {"coat"}, torch::ones({1, 1})), {"monday"}));
    return stages.search.take_outputs().size();
  };
  EXPECT_EQ(search("city-block"), 1U);
  for (const std::string method : {"exact/expand=average(3)", "exact/rerank=k-reciprocal(2)"}) {
    EXPECT_REFUSED(search(method), Fault::configuration,
                   "but those of '" + method + "' already depend on them");
  }
}

TEST(IndexStage, ItsSequencesAreSavedWithIt) {
  const auto searched = [](bool saved) {
    Retrieval stages;
    stages.search.set("exclude_sequence", true).set("k", 1);
    stages.index
        .push(with_sequences(batch(0, {"coat", "coat"}, torch::tensor({{2.0F}, {1.0F}})),
                             {"tuesday", "monday"}))
        .finish();
    if (saved) stages.index.runner().load(stages.index.runner().save());
    stages.search.push(with_sequences(batch(7, {"coat"}, torch::tensor({{1.0F}})), {"monday"}))
        .finish();
    return stages.search.take_outputs().at(0)[field::rankings].by_mask[0].neighbours.rows;
  };
  EXPECT_THAT(searched(false), ElementsAre(0));
  EXPECT_THAT(searched(true), ElementsAre(0));
}

}  // namespace seam::stages::sequences_test
