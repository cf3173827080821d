#include "stages/metric/accuracy.hpp"

#include <torch/types.h>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/error.hpp>
#include <seam/testing.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "stages/published_lists.hpp"
#include "tests/stages/named_categories.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::accuracy_test {

using seam::testing::Harness;

Packet batch(const Tensor& scores, const std::vector<std::int64_t>& labels,
             const seam::Field<Tensor>& key = field::logits, std::int64_t first = 0) {
  Packet packet;
  packet.set(key, scores);
  packet.set(field::categories, labels);
  std::vector<Origin> origins;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t picture = first + static_cast<std::int64_t>(i);
    origins.push_back(
        {std::make_shared<std::string>("list.txt"), picture + 1, "p" + std::to_string(picture)});
  }
  packet.set(field::origins, origins);
  return packet;
}

std::vector<Packet> some(const seam::Field<Tensor>& key) {
  std::vector<Packet> packets;
  for (const float scale : {1.F, 2.F, 3.F}) {
    packets.push_back(batch((torch::arange(12.F).view({3, 4}) * scale).sin(), {3, 0, 2}, key,
                            3 * static_cast<std::int64_t>(packets.size())));
  }
  return packets;
}

const auto conformance = seam::testing::conformance<Accuracy>({
    .packets = [](Harness&) { return some(field::logits); },
});
const auto conformance_of_lengths = seam::testing::conformance<Accuracy>({
    .name = "lengths",
    .parameters = {{"from", std::string("class_lengths")}, {"k", std::vector<std::int64_t>{1, 3}}},
    .packets = [](Harness&) { return some(field::class_lengths); },
    .refused = {{{"k", std::vector<std::int64_t>{}}}, {{"k", std::vector<std::int64_t>{0}}}},
});

TEST(AccuracyStage, CountsPicturesOfAllBatches) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.set("k", std::vector<std::int64_t>{1, 2});
  harness.push(batch(torch::tensor({{1.F, 0.F, 0.F}, {3.F, 2.F, 1.F}}), {0, 1}));
  harness.push(batch(torch::tensor({{0.F, 1.F, 5.F}}), {2}, field::logits, 2));
  harness.finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  EXPECT_DOUBLE_EQ(harness.metric("accuracy@1"), 2.0 / 3);
  EXPECT_EQ(harness.metric("accuracy@2"), 1);
  EXPECT_EQ(harness.metric("images"), 3);
  EXPECT_DOUBLE_EQ(harness.metric("accuracy@1.standard_error"), std::sqrt(2.0 / 27));
  ASSERT_EQ(harness.reports().size(), 2U);
  EXPECT_THAT(harness.reports()[0].text, HasSubstr("3 images of 3 classes"));
  EXPECT_THAT(harness.reports()[0].text, HasSubstr("| top-1 | 66.67 |"));
  EXPECT_THAT(harness.reports()[1].text, HasSubstr("| 1 | 1 | 0.00 | 100.00 | 0 (1) |"));
}

TEST(AccuracyStage, EveryFlowCountsAnew) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.push(batch(torch::tensor({{0.F, 1.F}}), {0})).finish();
  harness.push(batch(torch::tensor({{0.F, 1.F}}), {1})).finish();
  EXPECT_EQ(harness.metric("accuracy@1"), 1);
}

TEST(AccuracyStage, APictureThatIsRefusedIsNamed) {
  const auto refused = [](Packet packet) {
    Harness harness("accuracy", std::make_unique<Accuracy>());
    harness.push(std::move(packet)).finish();
    return harness.errors().empty() ? std::string("no error") : harness.errors()[0].full_message();
  };
  const Tensor scores = torch::tensor({{1.F, 0.F}, {0.F, 1.F}});
  EXPECT_EQ(refused(batch(scores, {0, 1})), "no error");
  EXPECT_THAT(refused(batch(scores, {0, 2})), HasSubstr("list.txt:2 (p1) has category 2"));
  EXPECT_THAT(refused(batch(scores, {-1, 1})), HasSubstr("list.txt:1 (p0) has no category"));
  EXPECT_THAT(refused(batch(scores * std::nan(""), {0, 1})), HasSubstr("(p0) has NaN"));
}

TEST(AccuracyStage, ScoresOfOtherClassesAreRefused) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.push(batch(torch::tensor({{1.F, 0.F}}), {0}));
  harness.push(batch(torch::tensor({{1.F, 0.F, 0.F}}), {0}, field::logits, 1)).finish();
  ASSERT_FALSE(harness.errors().empty());
  EXPECT_THAT(harness.errors()[0].full_message(), HasSubstr("for 3 classes"));
}

TEST(AccuracyStage, NoPictureIsNoScore) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.push(batch(torch::zeros({0, 2}), {})).finish();
  EXPECT_THAT(only_error(harness).full_message(), HasSubstr("no image arrived"));
}

/// A data set that declares how it differs from the lists of published results.
class Lists final : public Source, public PublishedLists {
 public:
  explicit Lists(std::string difference) : difference_(std::move(difference)) {}
  void declare(Declaration& d) override { d.offers<PublishedLists>(*this); }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] std::string difference() const override { return difference_; }
  [[nodiscard]] std::string published_name() const override { return "deepfashion-category-test"; }

 private:
  std::string difference_;
};

TEST(AccuracyStage, PublishedNumbersNeedADataSetThatVouchesForItsLists) {
  const auto report = [](const char* difference, const char* protocol) {
    Harness harness("accuracy", std::make_unique<Accuracy>());
    Harness data("data", std::make_unique<Lists>(difference == nullptr ? "" : difference));
    data.open();
    harness.set("protocol", protocol).set("k", std::vector<std::int64_t>{3, 5});
    if (difference != nullptr) harness.upstream({&data.runner()});
    Packet packet = batch(torch::zeros({40'000, 46}), std::vector<std::int64_t>(40'000, 1));
    packet.set(field::images, torch::zeros({1, 3, 224, 224}).expand({40'000, 3, 224, 224}));
    harness.push(packet).finish();
    return harness.reports().at(0).text;
  };
  const char* const test = "deepfashion-category-test/img224";
  EXPECT_THAT(report("", test), HasSubstr("RCCapsNet-CLS"));
  EXPECT_THAT(report("", "deepfashion-category-test/cropped/img224"),
              Not(HasSubstr("RCCapsNet-CLS")));
  EXPECT_THAT(report(nullptr, test), Not(HasSubstr("RCCapsNet-CLS")));
  const std::string other = report("images of the val split", test);
  EXPECT_THAT(other, Not(HasSubstr("RCCapsNet-CLS")));
  EXPECT_THAT(other, HasSubstr("**Not comparable with published numbers:** images of the val "
                               "split.\n"));
}

TEST(AccuracyStage, APictureThatComesTwiceIsRefused) {
  const auto error = [](const std::vector<std::int64_t>& firsts) {
    Harness harness("accuracy", std::make_unique<Accuracy>());
    for (const std::int64_t first : firsts) {
      harness.push(batch(torch::tensor({{1.F, 0.F}, {0.F, 1.F}}), {0, 1}, field::logits, first));
    }
    harness.finish();
    return harness.errors().empty() ? std::string("no error") : harness.errors()[0].full_message();
  };
  EXPECT_EQ(error({0, 2}), "no error");
  EXPECT_THAT(error({0, 2, 1}), HasSubstr("list.txt:2 (p1) occurs twice"));
}

TEST(AccuracyStage, TellsDataListsAndSize) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.set("protocol", "deepfashion-category-test/img224")
      .set("k", std::vector<std::int64_t>{3, 5});
  Packet packet = batch(torch::zeros({2, 46}), {1, 1});
  packet.set(field::images, torch::zeros({2, 3, 224, 224}));
  harness.push(packet).finish();
  ASSERT_FALSE(harness.reports().empty());
  EXPECT_THAT(harness.reports()[0].text, HasSubstr("images of 224x224 pixels"));
  EXPECT_THAT(harness.reports()[0].text, HasSubstr("\nLists that were read: 'list.txt'.\n"));
  harness.push(batch(torch::zeros({2, 46}), {1, 1})).finish();
  EXPECT_THAT(harness.reports().at(2).text, HasSubstr("images of unknown pixels"));
}

TEST(AccuracyStage, TheTableNamesClassesAndLeavesOutThoseWithoutPictures) {
  TopKCounter counter({1}, 3);
  counter.add(std::vector{0.F, 1.F, 0.F}, 0);
  const std::string text = class_table(counter.result(), {"a|b", "bag", "coat"});
  EXPECT_THAT(text, HasSubstr("| a\\|b | 1 | 0.00 | bag (1) |"));
  EXPECT_THAT(text, Not(HasSubstr("coat")));
}

/// The error of an evaluation of a model that was trained on other data, or "began".
std::string evaluated(std::unique_ptr<Stage> trained_on, std::unique_ptr<Stage> tested_on) {
  Harness training("train_items", std::move(trained_on));
  Harness test("test_items", std::move(tested_on));
  Harness model("model", std::make_unique<NumberedModel>());
  Harness accuracy("accuracy", std::make_unique<Accuracy>());
  accuracy.upstream({&test.runner(), &model.runner()});
  // The order of a run that trains first: stages that only later flows use are opened last.
  training.open();
  model.upstream({&training.runner(), &test.runner()}).open();
  test.open();
  try {
    accuracy.push(batch(torch::tensor({{1.F, 0.F}}), {0})).finish();
  } catch (const Error& error) {
    return error.full_message();
  }
  return "began";
}

TEST(AccuracyStage, AModelWhoseDataSetsNumberCategoriesInDifferentWaysIsRefused) {
  const auto began = [](std::vector<std::string> trained, std::vector<std::string> evaluated) {
    return accuracy_test::evaluated(std::make_unique<NamedCategories>(std::move(trained)),
                                    std::make_unique<NamedCategories>(std::move(evaluated)));
  };
  EXPECT_EQ(began({"bag", "coat"}, {"bag", "coat"}), "began");
  EXPECT_EQ(began({}, {"bag", "coat"}), "began");
  EXPECT_THAT(began({"bag", "coat"}, {"coat", "bag"}),
              HasSubstr("category 0 is 'bag' in one (of 2 categories) and 'coat' in another"));
}

TEST(AccuracyStage, AListOfNumbersAgreesWithNoListOfNames) {
  const auto names = [] {
    return std::make_unique<NamedCategories>(std::vector<std::string>{"bag", "hat"});
  };
  const auto numbers = [](bool above_0) { return std::make_unique<NumberedList>(above_0); };
  const auto refused = HasSubstr(
      "names its categories (0 is 'bag'), and the list of another has whole numbers instead");
  EXPECT_THAT(evaluated(names(), numbers(true)), refused);
  EXPECT_THAT(evaluated(numbers(true), names()), refused);
  EXPECT_EQ(evaluated(names(), numbers(false)), "began");
  EXPECT_EQ(evaluated(numbers(true), numbers(true)), "began");
}

TEST(AccuracyStage, OnlyScoresThatALossTrainsToBeItemsAreRefused) {
  const auto evaluate = [](const char* from, const seam::Field<Tensor>& key) {
    Harness capsules("capsules", std::make_unique<NumberedModel>(field::class_lengths));
    auto of_items = std::make_unique<NumberedModel>();
    of_items->vocabulary().train(field::logits.name, ClassLabels::item, "loss");
    Harness together("together", std::move(of_items));
    Harness accuracy("accuracy", std::make_unique<Accuracy>());
    accuracy.set("from", from).upstream({&capsules.runner(), &together.runner()});
    accuracy.push(batch(torch::tensor({{1.F, 0.F}}), {0}, key)).finish();
    EXPECT_EQ(accuracy.metric("accuracy@1"), 1);
  };
  evaluate("class_lengths", field::class_lengths);
  EXPECT_REFUSED(evaluate("logits", field::logits), Fault::configuration,
                 "a loss trains the model's classes to be items");
}

TEST(TopK, FivePicturesByHand) {
  TopKCounter counter({2, 1, 2}, 3);
  counter.add(std::array{0.7F, 0.2F, 0.1F}, 0);  // first
  counter.add(std::array{0.7F, 0.2F, 0.1F}, 1);  // second
  counter.add(std::array{0.7F, 0.2F, 0.1F}, 2);  // third
  counter.add(std::array{0.1F, 0.2F, 0.3F}, 2);  // first
  counter.add(std::array{0.3F, 0.2F, 0.1F}, 2);  // third
  const AccuracyResult result = counter.result();
  EXPECT_THAT(result.ks, ElementsAre(1, 2));
  EXPECT_EQ(result.images, 5);
  EXPECT_THAT(result.accuracy, ElementsAre(0.4, 0.6));
  EXPECT_EQ(result.optimistic, result.accuracy);
  EXPECT_EQ(result.pessimistic, result.accuracy);
  EXPECT_DOUBLE_EQ(result.standard_error[0], std::sqrt(0.4 * 0.6 / 5));
  ASSERT_EQ(result.by_class.size(), 3U);
  EXPECT_THAT(result.by_class[0].accuracy, ElementsAre(1, 1));
  EXPECT_EQ(result.by_class[0].most_taken_for, -1);
  EXPECT_THAT(result.by_class[1].accuracy, ElementsAre(0, 1));
  EXPECT_EQ(result.by_class[2].images, 3);
  EXPECT_DOUBLE_EQ(result.by_class[2].accuracy[0], 1.0 / 3);
  EXPECT_EQ(result.by_class[2].most_taken_for, 0);
  EXPECT_EQ(result.by_class[2].taken_for_it, 2);
}

TEST(TopK, EqualScoresAreNoHundredPercent) {
  TopKCounter counter({1}, 4);
  for (const std::int64_t label : {0, 1, 2, 3}) {
    counter.add(std::array{0.5F, 0.5F, 0.5F, 0.5F}, label);
  }
  const AccuracyResult result = counter.result();
  EXPECT_EQ(result.accuracy[0], 0.25);
  EXPECT_EQ(result.optimistic[0], 1);
  EXPECT_EQ(result.pessimistic[0], 0);
}

TEST(TopK, InfiniteScoresAreRanked) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  TopKCounter counter({1}, 2);
  counter.add(std::array{-infinity, 0.F}, 1);
  counter.add(std::array{-infinity, infinity}, 1);
  EXPECT_EQ(counter.result().accuracy[0], 1);
}

TEST(TopK, WhatDoesNotFitIsRefused) {
  EXPECT_REFUSED(TopKCounter({}, 3), Fault::configuration, "at least one k");
  EXPECT_REFUSED(TopKCounter({0}, 3), Fault::configuration, "each 1 or more");
  EXPECT_REFUSED(TopKCounter({1, 3}, 3), Fault::configuration, "lower 'k'");
  TopKCounter counter({1}, 3);
  const std::array scores{0.1F, 0.2F, 0.3F};
  const std::array damaged{0.1F, std::nanf(""), 0.3F};
  EXPECT_REFUSED(counter.add(scores, 3), Fault::data, "has category 3");
  EXPECT_REFUSED(counter.add(scores, -1), Fault::data, "has no category");
  EXPECT_REFUSED(counter.add(std::span(scores).first(2), 0), Fault::data, "for 2 classes");
  EXPECT_REFUSED(counter.add(damaged, 0), Fault::data, "NaN for the score of class 1");
  EXPECT_REFUSED(static_cast<void>(counter.result()), Fault::data, "no image");
}

TEST(TopK, WilsonsIntervalAgreesWithPublishedValues) {
  // R. G. Newcombe, Statistics in Medicine 1998, table I, method 3.
  const Interval many = wilson_interval(81.0 / 263, 263);
  EXPECT_NEAR(many.low, 0.2553, 5e-5);
  EXPECT_NEAR(many.high, 0.3662, 5e-5);
  const Interval few = wilson_interval(0, 20);
  EXPECT_NEAR(few.low, 0, 5e-5);
  EXPECT_NEAR(few.high, 0.1611, 5e-5);
}

}  // namespace seam::stages::accuracy_test
