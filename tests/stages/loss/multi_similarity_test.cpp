#include "stages/loss/multi_similarity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/stages/loss/expect_near.hpp"
#include "tests/stages/loss/metric_learning_golden.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace multi_similarity_test {

Packet batch(const Tensor& embedding, const std::vector<std::string>& items) {
  Packet packet;
  packet.set(field::embedding, embedding);
  packet.set(field::items, items);
  return packet;
}

std::vector<Packet> batches() {
  std::vector<Packet> packets;
  for (const float factor : {1.F, 2.F, 3.F}) {
    packets.push_back(
        batch((torch::arange(20.0F).view({5, 4}) * factor).sin(), {"a", "b", "a", "b", "c"}));
  }
  return packets;
}

const auto conformance = seam::testing::conformance<MultiSimilarity>({
    .packets = [](seam::testing::Harness&) { return batches(); },
});

/// The paper's formulas in loops over pairs.
double by_loops(const Tensor& embedding, const std::vector<int>& labels,
                const MultiSimilarityOptions& options) {
  const std::size_t count = labels.size();
  const Tensor unit = embedding / embedding.norm(2, 1, true);
  std::vector<std::vector<double>> s(count, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      s[i][j] = (unit[static_cast<std::int64_t>(i)] * unit[static_cast<std::int64_t>(j)])
                    .sum()
                    .item<double>();
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double least_positive = INFINITY;
    double most_negative = -INFINITY;
    for (std::size_t j = 0; j < count; ++j) {
      if (j == i) continue;
      if (labels[i] == labels[j]) {
        least_positive = std::min(least_positive, s[i][j]);
      } else {
        most_negative = std::max(most_negative, s[i][j]);
      }
    }
    double positives = 0;
    double negatives = 0;
    for (std::size_t j = 0; j < count; ++j) {
      if (j == i) continue;
      if (labels[i] == labels[j] && s[i][j] - options.epsilon < most_negative) {
        positives += std::exp(-options.alpha * (s[i][j] - options.lambda));
      }
      if (labels[i] != labels[j] && s[i][j] + options.epsilon > least_positive) {
        negatives += std::exp(options.beta * (s[i][j] - options.lambda));
      }
    }
    sum += std::log1p(positives) / options.alpha + std::log1p(negatives) / options.beta;
  }
  return sum / static_cast<double>(count);
}

class MultiSimilarityLossTest : public seam::testing::EachDevice {
 protected:
  [[nodiscard]] Tensor labels_tensor(const std::vector<int>& labels) const {
    return torch::tensor(std::vector<std::int64_t>(labels.begin(), labels.end()), torch::kInt64)
        .to(device());
  }
};
SEAM_ON_EACH_DEVICE(MultiSimilarityLossTest);

TEST_P(MultiSimilarityLossTest, IsThePapersSumsOverPairs) {
  torch::manual_seed(3);
  for (const std::vector<int>& labels :
       {std::vector<int>{0, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 2}, {4, 4, 4, 4}, {0, 1, 2}}) {
    const Tensor embedding =
        torch::randn({static_cast<std::int64_t>(labels.size()), 5}, torch::kFloat64);
    for (const double epsilon : {0.1, 0.0, 0.5}) {
      MultiSimilarityOptions options;
      options.epsilon = epsilon;
      const MultiSimilarityLoss result =
          multi_similarity_loss(embedding.to(device()), labels_tensor(labels), options);
      EXPECT_NEAR(result.loss.item<double>(), by_loops(embedding, labels, options), 1e-12);
    }
  }
}

TEST_P(MultiSimilarityLossTest, IsThatOfPytorchMetricLearning) {
  const at::AutoGradMode gradients(true);
  for (const test::PairGolden& golden : test::multi_similarity_golden()) {
    const Tensor embedding = torch::tensor(golden.embedding, torch::kFloat64)
                                 .view({static_cast<std::int64_t>(golden.labels.size()), -1})
                                 .to(device())
                                 .set_requires_grad(true);
    const MultiSimilarityLoss result = multi_similarity_loss(
        embedding, torch::tensor(golden.labels, torch::kInt64).to(device()),
        {golden.options[0], golden.options[1], golden.options[2], golden.options[3]});
    result.loss.backward();
    EXPECT_NEAR(result.loss.item<double>(), golden.loss, 1e-6);
    test::expect_near(embedding.grad(), golden.gradient);
  }
}

TEST_P(MultiSimilarityLossTest, WithoutMinedPairsIsZero) {
  // The positives coincide, the negatives are opposite: nothing violates the order.
  const Tensor embedding =
      torch::tensor({{1.0, 0.0}, {1.0, 0.0}, {-1.0, 0.0}, {-1.0, 0.0}}, device());
  const MultiSimilarityLoss result =
      multi_similarity_loss(embedding, labels_tensor({0, 0, 1, 1}), {});
  EXPECT_EQ(result.loss.item<double>(), 0);
  EXPECT_EQ(result.positive_pairs.item<double>(), 0);
  EXPECT_EQ(result.negative_pairs.item<double>(), 0);
}

TEST_P(MultiSimilarityLossTest, CountsMinedPairs) {
  // Similarities 0 to the positive and 1 to the negative, 0 and 0, and a row without a positive,
  // whose negatives violate no order.
  const Tensor embedding = torch::tensor({{1.0, 0.0}, {0.0, 1.0}, {1.0, 0.0}}, device());
  const MultiSimilarityLoss result = multi_similarity_loss(embedding, labels_tensor({0, 0, 1}), {});
  EXPECT_DOUBLE_EQ(result.positive_pairs.item<double>(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.negative_pairs.item<double>(), 2.0 / 3);
}

TEST_P(MultiSimilarityLossTest, WhatIsNotFiniteMakesItNaN) {
  // NaN compares as neither more nor less: pairs must not be dropped for it, which would give 0.
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Tensor embedding = torch::eye(4, torch::kFloat64).to(device());
    embedding[2][1] = wrong;
    for (const std::vector<int>& labels : {std::vector<int>{0, 0, 1, 1}, {0, 0, 1, 2}}) {
      EXPECT_TRUE(std::isnan(
          multi_similarity_loss(embedding, labels_tensor(labels), {}).loss.item<double>()));
    }
  }
}

std::string complaint(const Packet& packet) {
  seam::testing::Harness harness("multi_similarity", std::make_unique<MultiSimilarity>());
  harness.push(packet);
  return harness.errors().empty() ? "accepted" : std::string(harness.errors()[0].what());
}

TEST(MultiSimilarity, ABatchThatTeachesNothingIsRefused) {
  using ::testing::HasSubstr;
  const Tensor embedding = torch::eye(4);
  EXPECT_EQ(complaint(batch(embedding, {"a", "a", "b", "c"})), "accepted");
  EXPECT_THAT(complaint(batch(embedding, {"a", "b", "c", "d"})),
              HasSubstr("no item of this batch has a second image"));
  EXPECT_THAT(complaint(batch(embedding, {"a", "a", "a", "a"})),
              HasSubstr("all images of this batch show one item"));
  EXPECT_THAT(complaint(batch(embedding, {"a", "a", "", "b"})), HasSubstr("has no item"));
  // NaN compares as neither more nor less, so nothing would be mined.
  EXPECT_THAT(
      complaint(batch(embedding * std::numeric_limits<float>::quiet_NaN(), {"a", "a", "b", "c"})),
      HasSubstr("are not finite"));
}

TEST(MultiSimilarity, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const torch::AutoGradMode gradients(true);
  const Tensor values = torch::randn({96, 368});
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < 96; ++row) labels.push_back(row / 4);
  std::vector<Tensor> results;
  for (const int count : {1, 2, 5}) {
    const test::Threads threads(count);
    const Tensor embedding = values.clone().requires_grad_(true);
    multi_similarity_loss(embedding, torch::tensor(labels, torch::kInt64), {}).loss.backward();
    results.push_back(embedding.grad());
  }
  EXPECT_TRUE(torch::equal(results[0], results[1]));
  EXPECT_TRUE(torch::equal(results[0], results[2]));
}

TEST_P(MultiSimilarityLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor embedding = torch::randn({6, 4}, torch::kFloat64).to(device()).requires_grad_(true);
  const Tensor labels = labels_tensor({0, 0, 1, 1, 2, 2});
  test::expect_gradients([&] { return multi_similarity_loss(embedding, labels, {}).loss; },
                         {embedding});
}

}  // namespace multi_similarity_test
}  // namespace seam::stages
