#include "stages/loss/supervised_contrastive.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stages/loss/supervised_contrastive_loss.hpp"
#include "tests/stages/loss/expect_near.hpp"
#include "tests/stages/loss/metric_learning_golden.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace supervised_contrastive_test {

using ::testing::HasSubstr;

Packet batch(const Tensor& embedding, const std::vector<std::string>& items) {
  Packet packet;
  packet.set(field::embedding, embedding);
  packet.set(field::items, items);
  return packet;
}

const auto conformance = seam::testing::conformance<SupervisedContrastive>({
    .packets =
        [](seam::testing::Harness&) {
          std::vector<Packet> packets;
          for (const float factor : {1.F, 2.F, 3.F}) {
            packets.push_back(batch((torch::arange(20.0F).view({5, 4}) * factor).sin(),
                                    {"a", "b", "a", "b", "c"}));
          }
          return packets;
        },
    .refused = {{{"temperature", 0.0}}},
});

/// The paper's formula in loops over pairs.
double by_loops(const Tensor& embedding, const std::vector<std::int64_t>& labels,
                double temperature) {
  const std::size_t count = labels.size();
  const Tensor unit = embedding / embedding.norm(2, 1, true);
  const auto similarity = [&](std::size_t i, std::size_t j) {
    return (unit[static_cast<std::int64_t>(i)] * unit[static_cast<std::int64_t>(j)])
               .sum()
               .item<double>() /
           temperature;
  };
  double sum = 0;
  int anchors = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double all = 0;
    for (std::size_t a = 0; a < count; ++a) {
      if (a != i) all += std::exp(similarity(i, a));
    }
    double of_row = 0;
    int positives = 0;
    for (std::size_t p = 0; p < count; ++p) {
      if (p == i || labels[p] != labels[i]) continue;
      of_row -= std::log(std::exp(similarity(i, p)) / all);
      ++positives;
    }
    if (positives == 0) continue;
    sum += of_row / positives;
    ++anchors;
  }
  return sum / anchors;
}

class SupervisedContrastiveLossTest : public seam::testing::EachDevice {
 protected:
  [[nodiscard]] Tensor on_device(const std::vector<std::int64_t>& labels) const {
    return torch::tensor(labels, torch::kInt64).to(device());
  }
};
SEAM_ON_EACH_DEVICE(SupervisedContrastiveLossTest);

TEST_P(SupervisedContrastiveLossTest, IsThePapersSumsOverPairs) {
  torch::manual_seed(3);
  for (const std::vector<std::int64_t>& labels :
       {std::vector<std::int64_t>{0, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 2}, {4, 4, 4, 4}}) {
    const Tensor embedding =
        torch::randn({static_cast<std::int64_t>(labels.size()), 5}, torch::kFloat64);
    for (const double temperature : {0.1, 0.5, 2.0}) {
      EXPECT_NEAR(
          supervised_contrastive_loss(embedding.to(device()), on_device(labels), temperature)
              .item<double>(),
          by_loops(embedding, labels, temperature), 1e-10);
    }
  }
}

TEST_P(SupervisedContrastiveLossTest, IsThatOfPytorchMetricLearning) {
  const at::AutoGradMode gradients(true);
  for (const test::PairGolden& golden : test::supervised_contrastive_golden()) {
    const Tensor embedding = torch::tensor(golden.embedding, torch::kFloat64)
                                 .view({static_cast<std::int64_t>(golden.labels.size()), -1})
                                 .to(device())
                                 .set_requires_grad(true);
    const Tensor loss =
        supervised_contrastive_loss(embedding, on_device(golden.labels), golden.options[0]);
    loss.backward();
    EXPECT_NEAR(loss.item<double>(), golden.loss, 1e-6);
    test::expect_near(embedding.grad(), golden.gradient);
  }
}

TEST_P(SupervisedContrastiveLossTest, HandComputed) {
  // Two rows that coincide, and two at right angles to all: log(e + 2) - 1 for the first two.
  const Tensor embedding =
      torch::tensor({{2.0, 0.0, 0.0}, {5.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}},
                    torch::kFloat64)
          .to(device());
  EXPECT_NEAR(supervised_contrastive_loss(embedding, on_device({0, 0, 1, 2}), 1).item<double>(),
              std::log(std::exp(1.0) + 2) - 1, 1e-12);
}

TEST_P(SupervisedContrastiveLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor embedding = torch::randn({6, 4}, torch::kFloat64).to(device()).requires_grad_(true);
  const Tensor labels = on_device({0, 0, 1, 1, 2, 0});
  test::expect_gradients([&] { return supervised_contrastive_loss(embedding, labels, 0.5); },
                         {embedding});
}

TEST_P(SupervisedContrastiveLossTest, WhatIsNotFiniteMakesItNaN) {
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Tensor embedding = torch::eye(4, torch::kFloat64).to(device());
    embedding[2][1] = wrong;
    for (const std::vector<std::int64_t>& labels :
         {std::vector<std::int64_t>{0, 0, 1, 1}, {0, 0, 1, 2}}) {
      EXPECT_TRUE(std::isnan(
          supervised_contrastive_loss(embedding, on_device(labels), 0.1).item<double>()));
    }
  }
}

TEST(SupervisedContrastive, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const torch::AutoGradMode gradients(true);
  const Tensor values = torch::randn({96, 368});
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < 96; ++row) labels.push_back(row / 4);
  std::vector<Tensor> results;
  for (const int count : {1, 2, 5}) {
    const test::Threads threads(count);
    const Tensor embedding = values.clone().requires_grad_(true);
    supervised_contrastive_loss(embedding, torch::tensor(labels, torch::kInt64), 0.1).backward();
    results.push_back(embedding.grad());
  }
  EXPECT_TRUE(torch::equal(results[0], results[1]));
  EXPECT_TRUE(torch::equal(results[0], results[2]));
}

TEST(SupervisedContrastive, ABatchThatTeachesNothingIsRefused) {
  const auto complaint = [](const Packet& packet) {
    seam::testing::Harness harness("loss", std::make_unique<SupervisedContrastive>());
    harness.push(packet);
    return harness.errors().empty() ? "accepted" : std::string(harness.errors()[0].what());
  };
  const Tensor embedding = torch::eye(4);
  EXPECT_EQ(complaint(batch(embedding, {"a", "a", "b", "c"})), "accepted");
  EXPECT_THAT(complaint(batch(embedding, {"a", "b", "c", "d"})),
              HasSubstr("no item of this batch has a second image"));
  EXPECT_THAT(complaint(batch(embedding, {"a", "a", "a", "a"})),
              HasSubstr("all images of this batch show one item"));
  EXPECT_THAT(complaint(batch(embedding, {"a", "a", "", "b"})), HasSubstr("has no item"));
  EXPECT_THAT(
      complaint(batch(embedding * std::numeric_limits<float>::quiet_NaN(), {"a", "a", "b", "c"})),
      HasSubstr("are not finite"));
}

TEST(SupervisedContrastive, CountsRowsWithoutAPositive) {
  seam::testing::Harness harness("loss", std::make_unique<SupervisedContrastive>());
  harness.push(batch(torch::eye(5), {"a", "a", "b", "c", "a"})).finish();
  EXPECT_DOUBLE_EQ(harness.metric("without_positive"), 2);
}

}  // namespace supervised_contrastive_test
}  // namespace seam::stages
