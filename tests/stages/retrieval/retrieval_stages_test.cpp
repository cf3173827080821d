#include <iterator>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/tensor.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include "tests/stages/named_categories.hpp"
#include "tests/stages/retrieval/batches.hpp"
#include "tests/stages/retrieval/other_peoples_stages.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::retrieval_stages_test {

using retrieval_test::batch;
using retrieval_test::batches_of_two;
using retrieval_test::error_of;
using retrieval_test::gathered;
using retrieval_test::refer_to;
using retrieval_test::Retrieval;
using retrieval_test::Texts;
using seam::testing::Harness;
using ::testing::Field;

const auto index_conformance = seam::testing::conformance<Index>({
    .packets = &batches_of_two,
    .without_effect = {{"metric", "applied by searches in the gallery"}},
});

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

TEST(RetrievalStages, EvaluateAGalleryThatCameInBatches) {
  Retrieval stages({1, 2});
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
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("/lone=1-left-out/"));
  EXPECT_THAT(stages.recall.log(),
              Contains(Field(&seam::testing::LogLine::text,
                             HasSubstr("1 query of 3 left out, because the gallery has no image of "
                                       "their item; the first is queries.txt:3 (cap) of item "
                                       "'cap'. Check"))));
}

class RetrievalOnEachDevice : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(RetrievalOnEachDevice);

TEST_P(RetrievalOnEachDevice, EmbeddingsAreComparedWhereverAndInWhateverPrecisionTheyAre) {
  const auto rank = [](const torch::TensorOptions& options) {
    Retrieval stages({1, 2});
    stages.index.push(
        batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}}).to(options)));
    stages.index.push(batch(2, {"dress"}, torch::tensor({{9.F, 0.F}}).to(options)));
    stages.index.finish();
    EXPECT_TRUE(stages.index.errors().empty()) << stages.index.errors()[0].full_message();
    stages.evaluate(
        {batch(0, {"shirt", "dress"}, torch::tensor({{2.F, 0.F}, {6.F, 0.F}}).to(options))});
    EXPECT_TRUE(stages.search.errors().empty()) << stages.search.errors()[0].full_message();
    return stages.recall.metric("none.mrr@2");
  };
  const double on_host = rank(torch::kFloat32);
  EXPECT_EQ(rank(torch::TensorOptions(torch::kFloat32).device(device())), on_host);
  EXPECT_EQ(rank(torch::TensorOptions(torch::kBFloat16).device(device())), on_host);
}

TEST(RetrievalStages, EveryMaskIsEvaluatedAndTheLeakyOneIsNamed) {
  Retrieval stages;
  stages.masks({"none", "predicted", "ground_truth"});
  stages.search.set("k", 1);
  stages.recall.set("k", std::vector<std::int64_t>{1});

  // Two categories, capsules of size 2. The model predicts the wrong category for the query.
  const auto with_capsules = [](Packet packet, const Tensor& capsules, std::int64_t category,
                                std::int64_t predicted) {
    packet.set(field::capsules, capsules);
    packet.set(field::categories,
               std::vector<std::int64_t>(static_cast<std::size_t>(capsules.size(0)), category));
    packet.set(field::predicted_category,
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
  Retrieval stages({1});
  stages.search.set("exclude_self", Value{true});
  const auto all = [] {  // images 0 and 1 are equal, of different items
    return batch(0, {"a", "b", "a", "b"}, torch::tensor({{1.F}, {1.F}, {50.F}, {60.F}}));
  };
  stages.index.push(all());
  stages.index.finish();
  stages.evaluate({all()});
  EXPECT_EQ(stages.recall.metric("r@1"), 0.0);
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("self=excluded"));

  stages.search.push(batch(0, {"x"}, torch::ones({1, 1})));  // another list than the gallery's
  EXPECT_THAT(error_of(stages.search), HasSubstr("must be the same list"));
}

/// The same indices and items, in the same order, in two splits of a data set.
TEST(RetrievalStages, LeaveOneOutKnowsAnImageByItsOriginToo) {
  Retrieval stages;
  stages.search.set("k", 1).set("exclude_self", Value{true});
  stages.index.push(batch(0, {"a", "b"}, torch::tensor({{1.F}, {2.F}}))).finish();
  Packet queries = batch(0, {"a", "b"}, torch::tensor({{1.F}, {2.F}}));
  for (Origin& origin : queries[field::origins]) origin.item = "query/" + origin.item;
  stages.search.push(std::move(queries));
  EXPECT_THAT(error_of(stages.search), HasSubstr("must be the same list"));
}

TEST(RetrievalStages, AQueryThatFindsItselfIsWarnedOfOnce) {
  Retrieval stages;
  stages.search.set("k", 1);
  const auto all = [] { return batch(0, {"a", "b"}, torch::tensor({{1.F}, {2.F}})); };
  stages.index.push(all()).finish();
  stages.search.push(all()).push(all());
  ASSERT_EQ(stages.search.log().size(), 1U);
  EXPECT_THAT(stages.search.log()[0].text, HasSubstr("finds itself"));
}

TEST(RetrievalStages, TheGalleryIsMadeAnewEveryEpoch) {
  Retrieval stages({1});
  stages.index.push(batch(0, {"a", "b"}, torch::tensor({{1.F, 2.F}, {3.F, 4.F}}))).finish();
  stages.index.push(batch(0, {"c"}, torch::ones({1, 3}))).finish();
  stages.evaluate({batch(0, {"c"}, torch::ones({1, 3}))});
  EXPECT_EQ(stages.recall.metric("r@1"), 1.0);
  EXPECT_THAT(stages.recall.reports()[0].text, HasSubstr("a gallery of 1 image of 1 item"));
}

TEST(RetrievalStages, ACategoryWithoutACapsuleNamesItsImage) {
  Retrieval stages;
  stages.index.set("masks", Texts{"ground_truth"});
  Packet packet = batch(4, {"a"}, torch::ones({1, 1}));
  packet.set(field::capsules, torch::ones({1, 2, 3}));
  packet.set(field::categories, std::vector<std::int64_t>{2});
  stages.index.push(packet);
  EXPECT_THAT(error_of(stages.index),
              AllOf(HasSubstr("list.txt:5 (a)"), HasSubstr("category 2"), HasSubstr("0 to 1")));
}

TEST(RetrievalStages, SearchingBeforeTheGalleryIsThereIsAnError) {
  Retrieval stages;
  EXPECT_REFUSED(stages.search.push(batch(0, {"a"}, torch::ones({1, 1}))), Fault::configuration,
                 "before the flow that searches it");
}

TEST(RetrievalStages, AMaskThatTheGalleryWillLackIsRefusedBeforeAnythingRuns) {
  Retrieval stages;
  stages.index.open();
  stages.search.set("masks", Texts{"none", "predicted"});
  EXPECT_REFUSED(stages.search.open(), Fault::configuration,
                 "the gallery is not indexed under mask 'predicted'; give its retrieval.index the "
                 "same `masks`");
}

TEST(RetrievalStages, AGalleryOfOlderWeightsIsWarnedOf) {
  Retrieval stages({1});
  stages.index.trainings(2).push(batch(0, {"a"}, torch::ones({1, 1}))).finish();
  stages.search.trainings(3);
  stages.evaluate({batch(0, {"a"}, torch::ones({1, 1}))});
  EXPECT_THAT(stages.search.log(), Contains(Field(&seam::testing::LogLine::text,
                                                  HasSubstr("before the last training"))));
  EXPECT_THAT(stages.recall.reports()[0].text,
              AllOf(HasSubstr("/gallery=older"), HasSubstr("Not comparable")));
}

TEST(RetrievalStages, LeaveOneOutNeedsIndices) {
  Retrieval stages;
  stages.search.set("k", 1).set("exclude_self", Value{true});
  stages.index.push(batch(-1, {"a"}, torch::ones({1, 1}))).finish();
  stages.search.push(batch(-1, {"a"}, torch::ones({1, 1})));
  EXPECT_THAT(error_of(stages.search), HasSubstr("'index'"));
}

TEST(RetrievalStages, AMaskNamedTwiceIsRefused) {
  Retrieval stages;
  stages.masks({"none", "none"});
  EXPECT_REFUSED(stages.index.open(), Fault::configuration, "'masks' has none twice");
  EXPECT_REFUSED(stages.search.open(), Fault::configuration, "'masks' has none twice");
}

TEST(RetrievalStages, AZeroVectorIsAnErrorUnderEveryMetric) {
  const auto refused = AllOf(HasSubstr("the embedding of list.txt:2 (b) is zero (mask 'none')"),
                             HasSubstr("the model has collapsed, or does not respond"));
  const auto pictures = [](float last) {
    return batch(0, {"a", "b"}, torch::tensor({{1.F, 0.F}, {0.F, last}}));
  };
  for (const char* const metric : {"squared_euclidean", "cosine"}) {
    Retrieval stages;
    stages.index.set("metric", metric);
    stages.index.push(pictures(0));
    EXPECT_THAT(only_error(stages.index).full_message(), refused);
    EXPECT_EQ(stages.index.errors()[0].fault(), Fault::data);

    Retrieval found;
    found.search.set("k", 1);
    found.index.set("metric", metric);
    found.index.push(pictures(1)).finish();
    found.search.push(pictures(0)).finish();
    EXPECT_THAT(only_error(found.search).full_message(), refused);
  }
}

TEST(RetrievalStages, AClassCapsuleOfZerosIsAnErrorToo) {
  Retrieval stages;
  stages.masks({"none", "ground_truth"});
  Packet packet = batch(0, {"a", "b"}, torch::ones({2, 2}));
  packet.set(field::capsules, torch::eye(2).view({2, 1, 2}) * torch::tensor({1.F, 0.F}));
  stages.index.push(packet);
  EXPECT_THAT(error_of(stages.index), HasSubstr("list.txt:2 (b) is zero (mask 'ground_truth')"));
}

TEST(RetrievalStages, AGalleryIsMadeAnewByItsFlow) {
  Retrieval stages;
  EXPECT_TRUE(stages.index.runner().description().keeps_state);
  EXPECT_TRUE(stages.index.runner().description().state_made_by_flow);
}

const auto other_index_conformance =
    seam::testing::conformance<other_people::CityBlock>({.packets = &batches_of_two});

TEST(OtherPeoplesStages, AnIndexIsSearchedAndCounted) {
  Retrieval stages(std::make_unique<other_people::CityBlock>());
  stages.search.set("k", 1);
  stages.recall.set("k", 1);
  // Nearest to (1, 1): (4, 4) by squared distance 18 against 25, (6, 1) by city block 5 against 6.
  const auto gallery = [] { return batch(0, {"a", "b"}, torch::tensor({{4.F, 4.F}, {6.F, 1.F}})); };
  stages.index.push(gallery()).finish();
  stages.evaluate({batch(0, {"b"}, torch::ones({1, 2}))});
  ASSERT_TRUE(stages.recall.errors().empty());
  EXPECT_EQ(stages.recall.metric("r@1"), 1.0);
  EXPECT_THAT(stages.recall.reports().at(0).text,
              AllOf(HasSubstr("/search=city-block/"), HasSubstr("Not comparable")));
}

TEST(OtherPeoplesStages, AnIndexThatFindsRowsItDoesNotHaveIsRefused) {
  auto index = std::make_unique<other_people::CityBlock>();
  other_people::CityBlock& broken = *index;
  Retrieval stages(std::move(index));
  stages.search.set("k", 2);
  stages.index.push(batch(0, {"a", "b"}, torch::ones({2, 1}))).finish();
  stages.search.push(batch(0, {"a"}, torch::ones({1, 1})));
  ASSERT_TRUE(stages.search.errors().empty());
  broken.search_beyond(1);
  stages.search.push(batch(0, {"a"}, torch::ones({1, 1})));
  EXPECT_THAT(error_of(stages.search), HasSubstr("row 2 of its 2 rows"));
}

}  // namespace seam::stages::retrieval_stages_test
