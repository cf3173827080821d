#include "stages/loss/cross_entropy.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/stages/named_categories.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::cross_entropy_test {

std::vector<Packet> batches(const Field<Tensor>& field) {
  std::vector<Packet> packets(3);
  for (std::size_t at = 0; at < packets.size(); ++at) {
    packets[at].set(field, (torch::arange(12.0F).view({3, 4}) * static_cast<float>(at + 1)).sin());
    packets[at].set(field::categories, {3, 0, 2});
  }
  return packets;
}

const auto conformance = seam::testing::conformance<CrossEntropy>({
    .packets = [](seam::testing::Harness&) { return batches(field::logits); },
});

const auto conformance_of_lengths = seam::testing::conformance<CrossEntropy>({
    .name = "lengths",
    .parameters = {{"from", std::string("class_lengths")}, {"temperature", 0.1}},
    .packets = [](seam::testing::Harness&) { return batches(field::class_lengths); },
    .refused = {{{"label_smoothing", 1.0}}, {{"temperature", 0.0}}},
});

Packet of_items(const std::vector<std::string>& items, std::int64_t classes = 3) {
  const auto rows = static_cast<std::int64_t>(items.size());
  Packet packet;
  packet.set(field::logits,
             torch::arange(static_cast<float>(rows * classes)).view({rows, classes}).sin());
  packet.set(field::items, items);
  return packet;
}

const auto conformance_of_items = seam::testing::conformance<CrossEntropy>({
    .name = "items",
    .parameters = {{"labels", std::string("item")}},
    .packets =
        [](seam::testing::Harness&) {
          return std::vector{of_items({"a", "b", "a"}), of_items({"c", "b"}), of_items({"a"})};
        },
    .training = true,  // in evaluation, an item that was never trained is rejected
});

/// Row by row, class by class.
double by_loops(const Tensor& logits, const std::vector<std::int64_t>& labels, double smoothing) {
  const auto values = logits.accessor<double, 2>();
  const std::int64_t classes = logits.size(1);
  double sum = 0;
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    double exponentials = 0;
    for (std::int64_t k = 0; k < classes; ++k) exponentials += std::exp(values[row][k]);
    for (std::int64_t k = 0; k < classes; ++k) {
      const double target = smoothing / static_cast<double>(classes) +
                            (k == labels[static_cast<std::size_t>(row)] ? 1 - smoothing : 0);
      sum -= target * (values[row][k] - std::log(exponentials));
    }
  }
  return sum / static_cast<double>(logits.size(0));
}

class CrossEntropyLossTest : public seam::testing::EachDevice {
 protected:
  [[nodiscard]] Tensor labels_tensor(const std::vector<std::int64_t>& labels) const {
    return torch::tensor(labels, torch::kInt64).to(device());
  }
};
SEAM_ON_EACH_DEVICE(CrossEntropyLossTest);

TEST_P(CrossEntropyLossTest, EqualsLoops) {
  torch::manual_seed(1);
  const Tensor logits = torch::randn({7, 5}, torch::kFloat64) * 3;
  const std::vector<std::int64_t> labels{0, 4, 2, 2, 1, 3, 0};
  for (const double smoothing : {0.0, 0.1, 0.7}) {
    EXPECT_NEAR(cross_entropy(logits.to(device()), labels_tensor(labels), smoothing).item<double>(),
                by_loops(logits, labels, smoothing), 1e-12);
  }
}

TEST_P(CrossEntropyLossTest, HandComputed) {
  // Equal logits: log K, whatever the labels and the smoothing.
  const Tensor equal = torch::zeros({2, 3}, device());
  for (const double smoothing : {0.0, 0.3}) {
    EXPECT_NEAR(cross_entropy(equal, labels_tensor({0, 2}), smoothing).item<double>(),
                std::log(3.0), 1e-6);
  }
  // softmax(log 3, 0) = (3/4, 1/4).
  const Tensor logits = torch::tensor({{std::log(3.0), 0.0}}, torch::kFloat64).to(device());
  EXPECT_NEAR(cross_entropy(logits, labels_tensor({1}), 0).item<double>(), std::log(4.0), 1e-12);
}

TEST_P(CrossEntropyLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(2);
  const Tensor labels = labels_tensor({3, 0, 1});
  const std::vector<Tensor> logits{
      torch::randn({3, 4}, torch::kFloat64).to(device()).requires_grad_(true)};
  for (const double smoothing : {0.0, 0.2}) {
    test::expect_gradients([&] { return cross_entropy(logits[0], labels, smoothing); }, logits);
  }
}

TEST(CrossEntropyStage, RecordsLossAndAccuracy) {
  Packet packet;
  packet.set(field::logits,
             torch::tensor({{2.0F, 0.0F}, {0.0F, 1.0F}, {5.0F, 0.0F}, {0.0F, 9.0F}}));
  packet.set(field::categories, {0, 1, 1, 1});
  auto measured = test::metrics_of<CrossEntropy>(packet);
  EXPECT_DOUBLE_EQ(measured["accuracy"], 0.75);
  EXPECT_NEAR(measured["loss"],
              (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-1.0)) + std::log1p(std::exp(5.0)) +
               std::log1p(std::exp(-9.0))) /
                  4,
              1e-6);
}

TEST(CrossEntropyStage, TakesLengthsDividedByTheTemperature) {
  Packet packet;
  packet.set(field::class_lengths, torch::tensor({{0.9F, 0.1F}}));
  packet.set(field::categories, {0});
  EXPECT_NEAR(test::metrics_of<CrossEntropy>(
                  packet, {{"from", std::string("class_lengths")}, {"temperature", 0.1}})["loss"],
              std::log1p(std::exp(-8.0)), 1e-6);
}

struct ByItem {
  ByItem() : owned(std::make_unique<CrossEntropy>()), stage(owned.get()) {
    harness.set("labels", "item").training(true);
  }
  /// Returns the error of a batch; a batch without an error is accepted.
  std::string push(const Packet& packet) {
    const std::size_t before = harness.errors().size();
    harness.push(packet);
    stage->batch_accepted();
    return harness.errors().size() == before ? "" : harness.errors().back().what();
  }

  std::unique_ptr<CrossEntropy> owned;
  CrossEntropy* stage;
  seam::testing::Harness harness{"items", std::move(owned)};
};

TEST(CrossEntropyStage, NumbersItemsAsTheyAppear) {
  ByItem by_item;
  EXPECT_EQ(by_item.push(of_items({"dress", "skirt", "dress"})), "");
  EXPECT_EQ(by_item.push(of_items({"coat", "skirt"})), "");
  by_item.harness.finish();
  const auto loss = [](const Packet& packet, const std::vector<std::int64_t>& labels) {
    return cross_entropy(packet.get(field::logits), torch::tensor(labels, torch::kInt64), 0)
        .item<double>();
  };
  EXPECT_THAT(
      by_item.harness.metrics().at("loss"),
      ::testing::ElementsAre(::testing::DoubleNear(loss(of_items({"", "", ""}), {0, 1, 0}), 1e-6),
                             ::testing::DoubleNear(loss(of_items({"", ""}), {2, 1}), 1e-6)));
  Archive archive;
  by_item.stage->save(archive);
  EXPECT_EQ(archive.text("items"), "dressskirtcoat");
}

TEST(CrossEntropyStage, NumbersTheItemsOfTheDataSetByTheirNames) {
  StageRunner data("train_items", "test.three_items", std::make_unique<test::ThreeItems>());
  ByItem by_item;
  by_item.harness.upstream({&data});
  EXPECT_EQ(by_item.push(of_items({"c", "z", "a"}, 4)), "");
  Archive archive;
  by_item.stage->save(archive);
  EXPECT_EQ(archive.text("items"), "abcz") << "an unknown item joins after those of the data set";
  ByItem resumed;
  resumed.harness.upstream({&data}).open();
  archive.put("items", "zbca");
  resumed.stage->load(archive);
  EXPECT_EQ(resumed.push(of_items({"a", "b"}, 4)), "");
  Archive again;
  resumed.stage->save(again);
  EXPECT_EQ(again.text("items"), "zbca") << "a run that is resumed keeps its numbers";
}

TEST(CrossEntropyStage, AnEvaluationAcceptsItemsOfTheTrainingDataThatNoBatchHad) {
  StageRunner data("train_items", "test.three_items", std::make_unique<test::ThreeItems>());
  ByItem by_item;
  by_item.harness.upstream({&data});
  EXPECT_EQ(by_item.push(of_items({"c", "a"})), "");
  by_item.harness.finish().training(false);
  EXPECT_EQ(by_item.push(of_items({"a", "c"})), "");
  EXPECT_EQ(by_item.push(of_items({"a", "b"})), "");
  EXPECT_THAT(
      by_item.push(of_items({"a", "d"})),
      HasSubstr("item 'd' has no trained class: it has not occurred in any training batch"));
}

TEST(CrossEntropyStage, AnItemWithoutAClassIsNamed) {
  ByItem by_item;
  EXPECT_EQ(by_item.push(of_items({"a", "b"})), "");
  EXPECT_THAT(
      by_item.push(of_items({"c", "d"})),
      HasSubstr("item 'd' has no class: all 3 belong to other items; set the model's `classes`"));
  EXPECT_EQ(by_item.push(of_items({"b", "d"})), "") << "items of a rejected batch are not kept";
  EXPECT_THAT(by_item.push(of_items({"a"}, 2)),
              HasSubstr("3 items have been seen, but there are only 2 classes"));
  EXPECT_THAT(by_item.push(of_items({"a", ""})), HasSubstr("row 1 has no item"));
}

/// The error of a loss that reads categories of two data sets, each in a flow, or "accepted".
std::string complaint_of_both(std::unique_ptr<Stage> one, std::unique_ptr<Stage> other,
                              const char* labels = "category") {
  seam::testing::Harness first("items_a", std::move(one));
  seam::testing::Harness second("items_b", std::move(other));
  seam::testing::Harness loss("loss", std::make_unique<CrossEntropy>());
  loss.set("labels", labels).training(true).upstream({&first.runner(), &second.runner()});
  first.open();
  loss.open();
  second.open();  // as a stage that only a later flow uses
  Packet packet = batches(field::logits)[0];
  packet.set(field::items, {"a", "b", "a"});
  loss.upstream({&first.runner()}).push(std::move(packet));
  return loss.errors().empty() ? "accepted" : std::string(loss.errors()[0].what());
}

TEST(CrossEntropyStage, RefusesDataSetsThatNumberCategoriesInDifferentWays) {
  using Names = std::vector<std::string>;
  const auto complaint = [](const Names& one, const Names& other, const char* labels = "category") {
    return complaint_of_both(std::make_unique<NamedCategories>(one),
                             std::make_unique<NamedCategories>(other), labels);
  };
  EXPECT_EQ(complaint({"bag", "coat"}, {"bag", "coat", "hat"}), "accepted");
  EXPECT_THAT(complaint({"bag", "coat"}, {"coat", "hat"}),
              HasSubstr("category 0 is 'bag' in one (of 2 categories) and 'coat' in another"));
  EXPECT_EQ(complaint({"bag", "coat"}, {"coat", "hat"}, "item"), "accepted");
  EXPECT_THAT(complaint_of_both(std::make_unique<NamedCategories>(Names{"bag", "coat"}),
                                std::make_unique<NumberedList>(true)),
              HasSubstr("names its categories (0 is 'bag'), and the list of another has whole"));
}

TEST(CrossEntropyStage, RefusesToTrainAnOutputToBeItemsAndCategories) {
  // Opens a loss of items on `logits`, and then one of categories.
  const auto open_both = [](const char* from, double weight) {
    seam::testing::Harness model("model", std::make_unique<NumberedModel>(field::class_lengths));
    seam::testing::Harness together("together", std::make_unique<NumberedModel>());
    const std::vector<StageRunner*> before{&model.runner(), &together.runner()};
    seam::testing::Harness items("items", std::make_unique<CrossEntropy>());
    items.set("labels", "item").upstream(before).open();
    seam::testing::Harness types("types", std::make_unique<CrossEntropy>());
    types.set("from", from).set("weight", weight).upstream(before).open();
  };
  open_both("class_lengths", 1.0);
  open_both("logits", 0.0);
  EXPECT_REFUSED(open_both("logits", 0.1), Fault::configuration,
                 "stage 'items' compares the classes of `logits` with items, but stage 'types' "
                 "compares them with categories");
}

TEST(CrossEntropyStage, NamesThePictureWhoseLabelIsNoClass) {
  const auto complaint = [](std::int64_t label) {
    Packet packet;
    packet.set(field::logits, torch::zeros({2, 3}));
    packet.set(field::categories, {2, label});
    packet.set(field::origins, std::vector<Origin>{{nullptr, 0, "a.jpg"}, {nullptr, 0, "b.jpg"}});
    return test::complaint<CrossEntropy>(packet);
  };
  EXPECT_EQ(complaint(0), "accepted");
  EXPECT_THAT(complaint(3), HasSubstr("b.jpg"));
  EXPECT_THAT(complaint(3), HasSubstr("has category 3, but the logits are for 3 classes, 0 to 2"));
  EXPECT_THAT(complaint(-1), HasSubstr("has no category"));
}

}  // namespace seam::stages::cross_entropy_test
