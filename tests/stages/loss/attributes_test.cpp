#include "stages/loss/attributes.hpp"

#include <gmock/gmock.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/stages/loss/landmark_batch.hpp"

namespace seam::stages::attributes_test {

using ::testing::HasSubstr;

const auto conformance = seam::testing::conformance<Attributes>({
    .packets = landmark_batches,
});

class AttributeLossTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(AttributeLossTest);

double slowly(const Tensor& logits, const Tensor& labels, double share) {
  double sum = 0;
  int known = 0;
  for (int n = 0; n < logits.size(0); ++n) {
    for (int a = 0; a < logits.size(1); ++a) {
      const int label = labels[n][a].item<int>();
      if (label == 2) continue;
      const double p = 1 / (1 + std::exp(-logits[n][a].item<double>()));
      sum -= label == 1 ? 2 * (1 - share) * std::log(p) : 2 * share * std::log(1 - p);
      ++known;
    }
  }
  return known == 0 ? 0 : sum / known;
}

TEST_P(AttributeLossTest, IsWhatTheFormulaGives) {
  torch::manual_seed(1);
  const Tensor logits = torch::randn({4, 6}, torch::kFloat64);
  const Tensor labels = torch::randint(3, {4, 6}).to(torch::kUInt8);
  for (const double share : {0.5, 0.1, 0.01}) {
    EXPECT_NEAR(attribute_loss(logits.to(device()), labels.to(device()), share).item<double>(),
                slowly(logits, labels, share), 1e-12);
  }
}

TEST_P(AttributeLossTest, HandComputed) {
  const Tensor logits = torch::zeros({1, 4}, torch::kFloat64).to(device());
  const Tensor labels = torch::tensor({{1, 0, 0, 2}}, torch::kUInt8).to(device());
  // A third is positive: 4/3 once and 2/3 twice, each times log 2, over three labels.
  EXPECT_NEAR(attribute_loss(logits, labels, 1.0 / 3).item<double>(), 8.0 / 9 * std::log(2.0),
              1e-12);
}

TEST_P(AttributeLossTest, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(2);
  const Tensor labels = torch::randint(3, {3, 7}).to(torch::kUInt8).to(device());
  const std::vector<Tensor> logits{
      torch::randn({3, 7}, torch::kFloat64).to(device()).requires_grad_(true)};
  test::expect_gradients([&] { return attribute_loss(logits[0], labels, 0.2); }, logits, 21);
}

TEST(AttributeLoss, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const Tensor labels = torch::randint(3, {300, 333}, torch::kUInt8);
  test::expect_same_bytes_for_any_threads({torch::randn({300, 333})},
                                          [&](const std::vector<Tensor>& inputs) -> MeasuredLoss {
                                            return {attribute_loss(inputs[0], labels, 0.3), {}};
                                          });
}

TEST(AttributeStage, TakesTheBatchsShareWhereNoneIsSet) {
  const Packet packet = landmark_batch();
  const Tensor& labels = packet.get(field::true_attributes);
  const double known = (labels != 2).sum().item<double>();
  const double positive = (labels == 1).sum().item<double>();
  const Tensor logits = packet.get(field::attribute_logits).detach().to(torch::kFloat64);
  auto measured = test::metrics_of<Attributes>(packet);
  EXPECT_NEAR(measured["loss"], slowly(logits, labels, positive / known), 1e-5);
  const double found = ((logits > 0).logical_and(labels == 1)).sum().item<double>();
  EXPECT_NEAR(measured["recall"], found / positive, 1e-6);
  EXPECT_NEAR(test::metrics_of<Attributes>(packet, {{"positive_share", 0.01}})["loss"],
              slowly(logits, labels, 0.01), 1e-5);
}

TEST(AttributeStage, NothingKnownIsALossOfNothing) {
  Packet packet = landmark_batch();
  packet.set(field::true_attributes, torch::full({3, 5}, 2, torch::kUInt8));
  EXPECT_EQ(test::metrics_of<Attributes>(packet).at("loss"), 0);
}

TEST(AttributeStage, LabelsThatDoNotFitAreRefused) {
  const auto error = [](const Tensor& labels) {
    Packet packet = landmark_batch();
    packet.set(field::true_attributes, labels);
    return test::complaint<Attributes>(packet);
  };
  EXPECT_THAT(error(torch::zeros({3, 6}, torch::kUInt8)),
              HasSubstr("the model predicts 5 attributes, but the images have 6"));
  Tensor labels = torch::zeros({3, 5}, torch::kUInt8);
  labels[1][4] = 3;
  EXPECT_THAT(error(labels), HasSubstr("row 1: attribute 5 has the label 3"));
}

}  // namespace seam::stages::attributes_test
