#include "stages/retrieval/recall.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <seam/conformance.hpp>
#include <seam/contract.hpp>
#include <seam/tensor.hpp>
#include <seam/testing.hpp>

#include "tests/stages/named_categories.hpp"
#include "tests/stages/retrieval/batches.hpp"
#include "tests/stages/retrieval/other_peoples_stages.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::recall_test {

using retrieval_test::batch;
using retrieval_test::batches_of_two;
using retrieval_test::error_of;
using retrieval_test::gathered;
using retrieval_test::of_list;
using retrieval_test::refer_to;
using retrieval_test::Retrieval;
using retrieval_test::Texts;
using seam::testing::Harness;
using ::testing::Field;

const auto recall_conformance = seam::testing::conformance<Recall>({
    .parameters = {{"k", std::vector<std::int64_t>{1, 3}}},
    .packets =
        [](Harness&) {
          const auto gallery = gathered();
          Harness search("search", std::make_unique<Search>());
          refer_to(search, *gallery);
          search.set("k", 3);
          for (Packet& packet : batches_of_two(search)) {
            packet.set(field::categories, {0, 1});
            search.push(of_list("queries.txt", std::move(packet)));
          }
          search.finish();
          return search.take_outputs();
        },
});

TEST(RecallStage, LoneQueriesThatCountAsMissedAreNoWarning) {
  for (const bool lone : {false, true}) {
    Retrieval stages({1});
    if (lone) stages.recall.set("lone_queries", "miss");
    stages.index.push(batch(0, {"shirt"}, torch::ones({1, 1}))).finish();
    stages.evaluate({batch(0, lone ? Texts{"shirt", "cap"} : Texts{"shirt", "shirt"},
                           torch::tensor({{1.F}, {2.F}}))});
    EXPECT_THAT(stages.recall.log(),
                Not(Contains(Field(&seam::testing::LogLine::text, HasSubstr("left out")))));
  }
}

TEST(RecallStage, RecallLeavesWhatEachQueryScored) {
  const test::TemporaryFolder folder;
  Retrieval stages({2, 1, 2});
  stages.recall.run_directory(folder.path());
  stages.index.push(batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}})));
  stages.index.push(batch(2, {"dress"}, torch::tensor({{9.F, 0.F}})));
  stages.index.finish();
  stages.evaluate({batch(0, {"shirt", "dress"}, torch::tensor({{2.F, 0.F}, {6.F, 0.F}})),
                   batch(2, {"cap"}, torch::tensor({{1.F, 0.F}}))});
  ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
  const std::filesystem::directory_iterator files(folder.path() / "outcomes");
  std::ifstream file(files->path());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text,
            "epoch,observation,cluster,none.r@1,none.r@2,none.mrr@2,none.r_precision,none.map@r\n"
            "0,queries.txt:1 (shirt),shirt,1,1,1,1,1\n"
            "0,queries.txt:2 (dress),dress,0,1,0.5,0,0\n"
            "0,queries.txt:3 (cap),cap,,,,,\n");  // left out: no gallery image
}

TEST(RecallStage, RecallTellsHowSureItIs) {
  Retrieval stages({1, 2});
  stages.index.push(batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}})));
  stages.index.finish();
  stages.evaluate({batch(0, {"shirt", "skirt", "skirt", "shirt"},
                         torch::tensor({{1.F, 0.F}, {5.F, 0.F}, {5.F, 0.F}, {5.F, 0.F}}))});
  EXPECT_EQ(stages.recall.metric("r@1"), 0.75);
  const double error = stages.recall.metric("none.r@1.standard_error");
  EXPECT_GT(error, 0);
  EXPECT_EQ(stages.recall.metric("r@1.standard_error"), error);
  EXPECT_EQ(stages.recall.metric("none.r@2.standard_error"), 0);  // all were found
}

TEST(RecallStage, OfOneItemReportsNoStandardError) {
  Retrieval stages({1});
  stages.index.push(batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}})));
  stages.index.finish();
  stages.evaluate({batch(0, {"shirt", "shirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}}))});
  ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
  EXPECT_EQ(stages.recall.metric("r@1"), 0.5);
  for (const auto& [metric, value] : stages.recall.metrics()) {
    EXPECT_FALSE(metric.ends_with(".standard_error")) << metric;
  }
  EXPECT_THAT(stages.recall.reports().at(0).text, HasSubstr("| none | no | 50.00 |"));
}

TEST(RecallStage, HeadlinesOfRecallFollowItsK) {
  const auto headlines = [](const std::vector<std::int64_t>& k) {
    Harness recall("recall", std::make_unique<Recall>());
    recall.set("k", k).open();
    std::string text;
    for (const Headline& headline : recall.runner().description().headlines) {
      EXPECT_EQ(headline.better, Better::higher);
      if (headline.metric.starts_with("none.")) text += headline.metric.substr(5) + " ";
    }
    return text;
  };
  EXPECT_EQ(headlines({1, 5, 10, 20, 50}), "r@1 r@10 mrr@50 ");
  EXPECT_EQ(headlines({20, 1}), "r@1 r@20 mrr@20 ");
  EXPECT_EQ(headlines({10}), "r@10 mrr@10 ");
}

TEST(RecallStage, CategoriesHaveTheNamesThatAllSourcesGiveThem) {
  const auto table = [](const std::vector<Texts>& vocabularies) {
    std::vector<std::unique_ptr<Harness>> sources;
    std::vector<StageRunner*> upstream;
    for (const Texts& names : vocabularies) {
      sources.push_back(
          std::make_unique<Harness>("source", std::make_unique<NamedCategories>(names)));
      sources.back()->open();
      upstream.push_back(&sources.back()->runner());
    }
    Retrieval stages({1});
    stages.recall.upstream(upstream);
    const auto pictures = [] {
      Packet packet = batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}}));
      packet.set(field::categories, std::vector<std::int64_t>{0, 1});
      return packet;
    };
    stages.index.push(pictures()).finish();
    stages.evaluate({pictures()});
    return stages.recall.reports().back().text;
  };
  EXPECT_THAT(table({}), HasSubstr("| 1 | 1 |"));
  EXPECT_THAT(table({{"Tops", "Skirts"}}), HasSubstr("| Skirts | 1 |"));
  EXPECT_THAT(table({{"Tops", "Skirts"}, {"Tops", "Skirts"}}), HasSubstr("| Skirts | 1 |"));
  EXPECT_THAT(table({{"Tops", "Skirts"}, {"Skirts", "Tops"}}), HasSubstr("| 1 | 1 |"));
  EXPECT_THAT(table({{"Tops", "Skirts"}, {}}), HasSubstr("| 1 | 1 |"));
}

TEST(RecallStage, TooFewNeighboursSayWhatToRaise) {
  Retrieval stages;
  stages.search.set("k", 5);
  stages.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  stages.evaluate({batch(0, {"a"}, torch::ones({1, 1}))});
  ASSERT_FALSE(stages.recall.errors().empty());
  EXPECT_THAT(stages.recall.errors()[0].full_message(), HasSubstr("raise its k"));
}

TEST(RecallStage, TooFewNeighboursAreKnownBeforeAnythingRuns) {
  Retrieval stages;
  stages.search.set("k", 5);
  const auto difference = [&] {
    const std::string provided = stages.search.runner().description().provides.at(0).contract;
    const std::string needed = stages.recall.runner().description().needs.at(0).contract;
    EXPECT_EQ(provided, "*[N,5]");
    return TensorContract::first_difference(TensorContract::parse(provided),
                                            TensorContract::parse(needed));
  };
  EXPECT_EQ(difference(), "dimension 1 is 5, but at least 50 is needed");
  stages.recall.set("k", std::vector<std::int64_t>{5, 1});
  EXPECT_EQ(difference(), std::nullopt);
}

TEST(RecallStage, QueriesOfWhichTheGalleryShowsNoneAreAnError) {
  for (const char* const policy : {"leave_out", "miss"}) {
    Retrieval stages({1});
    stages.recall.set("lone_queries", policy);
    stages.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
    stages.evaluate({batch(0, {"b", "c"}, torch::ones({2, 1}))});
    EXPECT_REFUSED(throw only_error(stages.recall), Fault::data, "no item of the 2 queries");
    EXPECT_TRUE(stages.recall.metrics().empty());
    EXPECT_TRUE(stages.recall.reports().empty());
  }
}

TEST(RecallStage, TheSizeOfThePicturesIsPartOfTheProtocol) {
  const auto with_pictures = [](Packet packet, std::int64_t side) {
    packet.set(field::images,
               torch::zeros({packet.get(field::embedding).size(0), 3, side, side + 1}));
    return packet;
  };
  for (const std::int64_t side : {64, 256}) {
    Retrieval stages({1});
    stages.recall.set("expected_height", 256).set("expected_width", 257);
    stages.index.push(with_pictures(batch(0, {"a"}, torch::ones({1, 1})), side)).finish();
    stages.evaluate({with_pictures(batch(0, {"a"}, torch::ones({1, 1})), side)});
    ASSERT_EQ(stages.recall.reports().size(), 1);
    EXPECT_THAT(stages.recall.reports()[0].text,
                side == 64 ? AllOf(HasSubstr("input=64x65/"), HasSubstr("Not comparable"))
                           : AllOf(HasSubstr("input=256x257/"),
                                   HasSubstr("As expected: input size. Not checked: count of")));
  }
}

TEST(RecallStage, QueriesOfTwoSearchesMakeNoMean) {
  Retrieval small;
  Retrieval large;
  small.search.set("k", 1);
  large.search.set("k", 1);
  small.recall.set("k", 1);
  small.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  large.index.push(batch(0, {"a", "b"}, torch::ones({2, 1}))).finish();
  for (Retrieval* stages : {&small, &large}) {
    stages->search.push(of_list("queries.txt", batch(0, {"a"}, torch::ones({1, 1})))).finish();
    small.recall.push(stages->search.take_outputs().at(0));
  }
  EXPECT_THAT(error_of(small.recall), HasSubstr("different searches"));
}

/// Constant embeddings: every neighbour is tied, but distances of a re-ranking give no bounds.
TEST(RecallStage, LeavesNoBoundsOverTiesOfAReRanking) {
  Retrieval stages;
  stages.index.push(batch(0, {"a", "b", "c", "d"}, torch::ones({4, 2}))).finish();
  stages.search.set("k", 2);
  stages.search.push(of_list("queries.txt", batch(0, {"a", "d"}, torch::ones({2, 2})))).finish();
  stages.recall.set("k", std::vector<std::int64_t>{1, 2});
  stages.recall
      .push_all(retrieval_test::found_by("exact/rerank=k-reciprocal(2,1,0.3)-of-2",
                                         stages.search.take_outputs()))
      .finish();
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

TEST(OtherPeoplesStages, AMetricCountsRankings) {
  Retrieval stages;
  Harness metric("metric", std::make_unique<other_people::NearestIsRight>());
  stages.search.set("k", 2);
  stages.index.push(batch(0, {"a", "b"}, torch::tensor({{1.F}, {3.F}}))).finish();
  stages.search.push(batch(0, {"a", "a"}, torch::tensor({{0.5F}, {4.F}}))).finish();
  metric.push_all(stages.search.take_outputs()).finish();
  EXPECT_EQ(metric.metric("right"), 0.5);
}

TEST(RecallStage, CountsOtherThanExpectedRefuseComparison) {
  for (const char* count : {"expected_queries", "expected_gallery"}) {
    Retrieval stages({1});
    stages.recall.set(count, 14'218);
    stages.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
    stages.evaluate({batch(0, {"a"}, torch::ones({1, 1}))});
    EXPECT_THAT(stages.recall.reports().at(0).text, HasSubstr("Not comparable")) << count;
  }
}

}  // namespace seam::stages::recall_test
