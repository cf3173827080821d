#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/tensor.hpp>
#include <seam/testing.hpp>

#include "stages/retrieval/index.hpp"
#include "stages/retrieval/recall.hpp"
#include "stages/retrieval/search.hpp"

namespace {

using seam::Origin;
using seam::Packet;
using seam::Tensor;
using seam::stages::GalleryIndex;
using seam::stages::Index;
using seam::stages::Recall;
using seam::stages::Search;
using seam::testing::Harness;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

/// A batch of images first, first + 1, ...; each of these items, category 0.
Packet batch(std::int64_t first, const Texts& items, const Tensor& embedding) {
  Packet packet;
  std::vector<std::int64_t> indices;
  std::vector<Origin> origins;
  for (std::size_t i = 0; i < items.size(); ++i) {
    indices.push_back(first + static_cast<std::int64_t>(i));
    origins.push_back({std::make_shared<std::string>("list.txt"), indices.back() + 1, items[i]});
  }
  packet.set(seam::field::items, items);
  packet.set(seam::field::indices, indices);
  packet.set(seam::field::categories, std::vector<std::int64_t>(items.size(), 0));
  packet.set(seam::field::origins, origins);
  packet.set(seam::field::embedding, embedding);
  return packet;
}

std::vector<Packet> batches_of_two(Harness& /*harness*/) {
  return {batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}})),
          batch(2, {"dress", "shirt"}, torch::tensor({{9.F, 0.F}, {2.F, 1.F}}))};
}

/// A gallery that has been gathered.
std::shared_ptr<Harness> gathered() {
  auto gallery = std::make_shared<Harness>("gallery", std::make_unique<Index>());
  gallery->push_all(batches_of_two(*gallery)).finish();
  return gallery;
}

void refer_to(Harness& search, Harness& gallery) {
  void* found = gallery.runner().interface(seam::type_name<GalleryIndex>());
  search.refer("index", *static_cast<GalleryIndex*>(found));
}

const auto index_conformance = seam::testing::conformance<Index>({.packets = &batches_of_two});

const auto search_conformance = seam::testing::conformance<Search>({
    .parameters = {{"k", std::int64_t{3}}},
    .packets = &batches_of_two,
    .connect =
        [](Harness& search) {
          auto gallery = gathered();
          refer_to(search, *gallery);
          return gallery;
        },
});

const auto recall_conformance = seam::testing::conformance<Recall>({
    .parameters = {{"k", std::vector<std::int64_t>{1, 3}}},
    .packets =
        [](Harness&) {
          const auto gallery = gathered();
          Harness search("search", std::make_unique<Search>());
          refer_to(search, *gallery);
          search.set("k", 3).push_all(batches_of_two(search)).finish();
          return search.take_outputs();
        },
});

/// The three stages, wired as a pipeline would.
class Retrieval {
 public:
  Retrieval() { refer_to(search, index); }

  void masks(const Texts& masks) {
    index.set("masks", masks);
    search.set("masks", masks);
  }

  /// Runs the evaluation flow over these queries.
  void evaluate(std::vector<Packet> queries) {
    for (Packet& query : queries) search.push(std::move(query));
    search.finish();
    for (Packet& packet : search.take_outputs()) recall.push(std::move(packet));
    recall.finish();
  }

  Harness index{"gallery", std::make_unique<Index>()};
  Harness search{"search", std::make_unique<Search>()};
  Harness recall{"recall", std::make_unique<Recall>()};
};

TEST(RetrievalStages, EvaluateAGalleryThatCameInBatches) {
  Retrieval stages;
  stages.search.set("k", 2);
  stages.recall.set("k", std::vector<std::int64_t>{1, 2});
  stages.index.push(batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}})));
  stages.index.push(batch(2, {"dress"}, torch::tensor({{9.F, 0.F}})));
  stages.index.finish();
  ASSERT_TRUE(stages.index.errors().empty());

  stages.evaluate({batch(0, {"shirt", "dress"}, torch::tensor({{2.F, 0.F}, {6.F, 0.F}})),
                   batch(2, {"cap"}, torch::tensor({{1.F, 0.F}}))});
  ASSERT_TRUE(stages.search.errors().empty()) << stages.search.errors()[0].full_message();
  ASSERT_TRUE(stages.recall.errors().empty()) << stages.recall.errors()[0].full_message();
  EXPECT_EQ(stages.recall.metric("r@1"), 0.5);  // the cap has no gallery image and is left out
  EXPECT_EQ(stages.recall.metric("r@2"), 1.0);
  EXPECT_EQ(stages.recall.metric("none.r@1"), 0.5);
  EXPECT_EQ(stages.recall.metric("none.r@1.pessimistic"), 0.5);
  ASSERT_EQ(stages.recall.reports().size(), 1);
  EXPECT_THAT(stages.recall.reports()[0].text,
              HasSubstr("3 queries of 3 items in a gallery of 3 images of 3 items; 1 lone query"));
}

TEST(RetrievalStages, EveryMaskIsEvaluatedAndTheLeakyOneIsNamed) {
  Retrieval stages;
  stages.masks({"none", "predicted", "ground_truth"});
  stages.search.set("k", 1);
  stages.recall.set("k", std::vector<std::int64_t>{1});

  // Two categories, capsules of two numbers. The model mistakes the query's category.
  const auto with_capsules = [](Packet packet, const Tensor& capsules, std::int64_t category,
                                std::int64_t predicted) {
    packet.set(seam::field::capsules, capsules);
    packet.set(seam::field::categories,
               std::vector<std::int64_t>(static_cast<std::size_t>(capsules.size(0)), category));
    packet.set(seam::field::predicted_category,
               torch::full({capsules.size(0)}, predicted, torch::kInt64));
    return packet;
  };
  const Tensor shirt = torch::tensor({1.F, 0.F, 0.F, 1.F}).view({1, 2, 2});
  const Tensor skirt = torch::tensor({0.F, 1.F, 1.F, 0.F}).view({1, 2, 2});
  stages.index.push(with_capsules(batch(0, {"skirt"}, skirt.view({1, 4})), skirt, 1, 1));
  stages.index.push(with_capsules(batch(1, {"shirt"}, shirt.view({1, 4})), shirt, 0, 0));
  stages.index.finish();
  ASSERT_TRUE(stages.index.errors().empty()) << stages.index.errors()[0].full_message();
  stages.evaluate({with_capsules(batch(0, {"shirt"}, shirt.view({1, 4})), shirt, 0, 1)});

  EXPECT_EQ(stages.recall.metric("none.r@1"), 1.0);
  EXPECT_EQ(stages.recall.metric("predicted.r@1"), 0.0);  // both at distance 2, the skirt is first
  EXPECT_EQ(stages.recall.metric("predicted.r@1.optimistic"), 1.0);
  EXPECT_EQ(stages.recall.metric("ground_truth.r@1"), 1.0);
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("leaky"));
  EXPECT_THAT(stages.recall.log(),
              Contains(Field(&seam::testing::LogLine::text, HasSubstr("leaky"))));
  EXPECT_THAT(stages.search.runner().description().labels_read, ElementsAre("categories"));
}

TEST(RetrievalStages, LeaveOneOutKnowsAnImageByItsIndex) {
  Retrieval stages;
  stages.search.set("k", 1).set("exclude_self", seam::Value{true});
  stages.recall.set("k", std::vector<std::int64_t>{1});
  const auto all = [] {  // images 0 and 1 are equal, of different items
    return batch(0, {"a", "b", "a", "b"}, torch::tensor({{1.F}, {1.F}, {50.F}, {60.F}}));
  };
  stages.index.push(all());
  stages.index.finish();
  stages.evaluate({all()});
  EXPECT_EQ(stages.recall.metric("r@1"), 0.0);
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("self=excluded"));

  stages.search.push(batch(0, {"x"}, torch::ones({1, 1})));  // another list than the gallery's
  ASSERT_FALSE(stages.search.errors().empty());
  EXPECT_THAT(stages.search.errors()[0].full_message(), HasSubstr("one list"));
}

TEST(RetrievalStages, TheGalleryIsMadeAnewEveryEpoch) {
  Retrieval stages;
  stages.search.set("k", 1);
  stages.recall.set("k", std::vector<std::int64_t>{1});
  stages.index.push(batch(0, {"a", "b"}, torch::tensor({{1.F, 2.F}, {3.F, 4.F}}))).finish();
  stages.index.push(batch(0, {"c"}, torch::tensor({{1.F, 2.F}}))).finish();
  stages.evaluate({batch(0, {"c"}, torch::tensor({{1.F, 2.F}}))});
  EXPECT_EQ(stages.recall.metric("r@1"), 1.0);
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("a gallery of 1 image of 1 item"));
}

TEST(RetrievalStages, ADamagedEmbeddingNamesItsImage) {
  Retrieval stages;
  stages.index.push(batch(4, {"a", "b"}, torch::tensor({{1.F}, {std::nanf("")}}))).finish();
  ASSERT_EQ(stages.index.errors().size(), 1);
  EXPECT_THAT(stages.index.errors()[0].full_message(), HasSubstr("list.txt:6 (b)"));
}

TEST(RetrievalStages, ACategoryWithoutACapsuleNamesItsImage) {
  Retrieval stages;
  stages.index.set("masks", Texts{"ground_truth"});
  Packet packet = batch(4, {"a"}, torch::ones({1, 1}));
  packet.set(seam::field::capsules, torch::ones({1, 2, 3}));
  packet.set(seam::field::categories, std::vector<std::int64_t>{2});
  stages.index.push(packet);
  ASSERT_FALSE(stages.index.errors().empty());
  EXPECT_THAT(stages.index.errors()[0].full_message(),
              AllOf(HasSubstr("list.txt:5 (a)"), HasSubstr("category 2"), HasSubstr("0 to 1")));
}

TEST(RetrievalStages, SearchingBeforeTheGalleryIsThereIsAnError) {
  Retrieval stages;
  try {
    stages.search.push(batch(0, {"a"}, torch::ones({1, 1})));
    FAIL() << "nothing was thrown";
  } catch (const seam::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("before"));
  }
}

TEST(RetrievalStages, AMaskThatTheGalleryLacksIsAnError) {
  Retrieval stages;
  stages.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  stages.search.set("masks", Texts{"predicted"});
  try {
    stages.search.open().push(batch(0, {"a"}, torch::ones({1, 1})));
    FAIL() << "nothing was thrown";
  } catch (const seam::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("same `masks`"));
  }
}

TEST(RetrievalStages, TooFewNeighboursSayWhatToRaise) {
  Retrieval stages;
  stages.search.set("k", 5);
  stages.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  stages.evaluate({batch(0, {"a"}, torch::ones({1, 1}))});
  ASSERT_FALSE(stages.recall.errors().empty());
  EXPECT_THAT(stages.recall.errors()[0].full_message(), HasSubstr("Raise its k"));
}

TEST(RetrievalStages, TooFewNeighboursAreRefusedBeforeAnythingRuns) {
  Retrieval stages;
  stages.search.set("k", 5);
  stages.recall.upstream({&stages.search.runner()});
  try {
    stages.recall.open();
    FAIL() << "nothing was thrown";
  } catch (const seam::Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("recall@50 needs as many neighbours, and the search finds 5"));
  }
}

TEST(RetrievalStages, AMaskThatTheGalleryWillLackIsRefusedBeforeAnythingRuns) {
  Retrieval stages;
  stages.index.open();
  stages.search.set("masks", Texts{"none", "predicted"});
  EXPECT_THROW(stages.search.open(), seam::Error);
}

TEST(RetrievalStages, AGalleryOfOlderWeightsIsWarnedOf) {
  Retrieval stages;
  stages.search.set("k", 1);
  stages.recall.set("k", 1);
  stages.index.trainings(2).push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  stages.search.trainings(3);
  stages.evaluate({batch(0, {"a"}, torch::ones({1, 1}))});
  EXPECT_THAT(stages.search.log(), Contains(Field(&seam::testing::LogLine::text,
                                                  HasSubstr("before the last training"))));
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("gallery=older"));
}

TEST(RetrievalStages, LeaveOneOutNeedsIndices) {
  Retrieval stages;
  stages.search.set("k", 1).set("exclude_self", seam::Value{true});
  stages.index.push(batch(-1, {"a"}, torch::ones({1, 1}))).finish();
  stages.search.push(batch(-1, {"a"}, torch::ones({1, 1})));
  ASSERT_FALSE(stages.search.errors().empty());
  EXPECT_THAT(stages.search.errors()[0].full_message(), HasSubstr("'index'"));
}

TEST(RetrievalStages, CountsOtherThanExpectedRefuseComparison) {
  Retrieval stages;
  stages.search.set("k", 1);
  stages.recall.set("k", std::vector<std::int64_t>{1}).set("expected_queries", 14218);
  stages.index.push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  stages.evaluate({batch(0, {"a"}, torch::ones({1, 1}))});
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("Not comparable"));
}

}  // namespace
