#include "stages/metric/accuracy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "tests/stages/named_categories.hpp"

namespace seam::stages {
namespace {

using seam::testing::Harness;
using ::testing::HasSubstr;
using ::testing::Not;

Packet batch(const Tensor& scores, const std::vector<std::int64_t>& labels,
             const seam::Field<Tensor>& key = field::logits) {
  Packet packet;
  packet.set(key, scores);
  packet.set(field::categories, labels);
  std::vector<Origin> origins;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    origins.push_back({std::make_shared<std::string>("list.txt"), static_cast<std::int64_t>(i + 1),
                       "p" + std::to_string(i)});
  }
  packet.set(field::origins, origins);
  return packet;
}

std::vector<Packet> some(const seam::Field<Tensor>& key) {
  std::vector<Packet> packets;
  for (const float scale : {1.F, 2.F, 3.F}) {
    packets.push_back(batch((torch::arange(12.F).view({3, 4}) * scale).sin(), {3, 0, 2}, key));
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
  harness.push(batch(torch::tensor({{0.F, 1.F, 5.F}}), {2}));
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
  EXPECT_THAT(refused(batch(scores, {0, 2})), HasSubstr("list.txt:2 (p1) is of category 2"));
  EXPECT_THAT(refused(batch(scores, {-1, 1})), HasSubstr("list.txt:1 (p0) has no category"));
  EXPECT_THAT(refused(batch(scores * std::nan(""), {0, 1})), HasSubstr("(p0) has NaN"));
}

TEST(AccuracyStage, ScoresOfOtherClassesAreRefused) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.push(batch(torch::tensor({{1.F, 0.F}}), {0}));
  harness.push(batch(torch::tensor({{1.F, 0.F, 0.F}}), {0})).finish();
  ASSERT_FALSE(harness.errors().empty());
  EXPECT_THAT(harness.errors()[0].full_message(), HasSubstr("of 3 classes"));
}

TEST(AccuracyStage, NoPictureIsNoScore) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.push(batch(torch::zeros({0, 2}), {})).finish();
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].full_message(), HasSubstr("no picture arrived"));
}

TEST(AccuracyStage, TellsDataAndSizeAndWhatMayBeCompared) {
  Harness harness("accuracy", std::make_unique<Accuracy>());
  harness.set("protocol", "deepfashion-category-test/img224")
      .set("k", std::vector<std::int64_t>{3, 5});
  const std::vector<std::int64_t> labels(40'000, 1);
  Packet packet = batch(torch::zeros({40'000, 46}), labels);
  packet.set(field::images, torch::zeros({1, 3, 224, 224}).expand({40'000, 3, 224, 224}));
  harness.push(packet).finish();
  ASSERT_FALSE(harness.reports().empty());
  EXPECT_THAT(harness.reports()[0].text, HasSubstr("pictures of 224x224 pixels"));
  EXPECT_THAT(harness.reports()[0].text,
              HasSubstr("| RCCapsNet-CLS | 11 and 12 | 85.12 | 91.41 |"));
  harness.push(batch(torch::zeros({2, 46}), {1, 1})).finish();
  EXPECT_THAT(harness.reports().at(2).text, HasSubstr("pictures of unknown pixels"));
  EXPECT_THAT(harness.reports().at(2).text, Not(HasSubstr("RCCapsNet")));
}

TEST(AccuracyStage, TheTableNamesClassesAndLeavesOutThoseWithoutPictures) {
  TopKCounter counter({1}, 3);
  counter.add(std::vector{0.F, 1.F, 0.F}, 0);
  const std::string text = class_table(counter.result(), {"a|b", "bag", "coat"});
  EXPECT_THAT(text, HasSubstr("| a\\|b | 1 | 0.00 | bag (1) |"));
  EXPECT_THAT(text, Not(HasSubstr("coat")));
}

/// A model before the accuracy, of classes that data sets name.
class NumberedModel final : public Transform {
 public:
  void declare(Declaration& d) override { vocabulary_.declare(d); }
  void open(Context& /*context*/) override { vocabulary_.open(); }
  void process(Packet& /*packet*/, Context& /*context*/) override {}

 private:
  ClassVocabulary vocabulary_;
};

TEST(AccuracyStage, AModelWhoseDataSetsNumberCategoriesInDifferentWaysIsRefused) {
  const auto began = [](std::vector<std::string> trained, std::vector<std::string> evaluated) {
    Harness training("train_items", std::make_unique<NamedCategories>(std::move(trained)));
    Harness test("test_items", std::make_unique<NamedCategories>(std::move(evaluated)));
    Harness model("model", std::make_unique<NumberedModel>());
    Harness accuracy("accuracy", std::make_unique<Accuracy>());
    accuracy.upstream({&test.runner(), &model.runner()});
    // The order of a run that trains first: what only later flows read is opened last.
    training.open();
    model.upstream({&training.runner(), &test.runner()}).open();
    test.open();
    try {
      accuracy.push(batch(torch::tensor({{1.F, 0.F}}), {0})).finish();
    } catch (const Error& error) {
      return error.full_message();
    }
    return std::string("began");
  };
  EXPECT_EQ(began({"bag", "coat"}, {"bag", "coat"}), "began");
  EXPECT_EQ(began({}, {"bag", "coat"}), "began");
  EXPECT_THAT(began({"bag", "coat"}, {"coat", "bag"}),
              HasSubstr("category 0 is 'bag' in one (of 2 categories) and 'coat' in another"));
}

}  // namespace
}  // namespace seam::stages
