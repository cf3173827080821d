#include "stages/loss/arcface.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "tests/stages/loss/expect_near.hpp"
#include "tests/stages/loss/metric_learning_golden.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace arcface_test {

using ::testing::HasSubstr;

Packet batch(const std::vector<std::string>& items, float factor = 1) {
  const auto rows = static_cast<std::int64_t>(items.size());
  Packet packet;
  packet.set(field::embedding,
             (torch::arange(static_cast<float>(rows * 4)).view({rows, 4}) * factor).sin());
  packet.set(field::items, items);
  return packet;
}

const auto conformance = seam::testing::conformance<Arcface>({
    .parameters = {{"items", std::int64_t{3}}, {"dimensions", std::int64_t{4}}},
    .packets =
        [](seam::testing::Harness&) {
          return std::vector{batch({"a", "b", "a"}), batch({"c", "b"}, 2), batch({"a"}, 3)};
        },
    .training = true,  // in evaluation, an item that was never trained is rejected
    .refused = {{{"margin", -0.1}}, {{"scale", 0.0}}},
});

class ArcfaceLossTest : public seam::testing::EachDevice {
 protected:
  /// Rows of doubles, a leaf with a gradient.
  [[nodiscard]] Tensor rows(const std::vector<double>& values, std::size_t count) const {
    return torch::tensor(values, torch::kFloat64)
        .view({static_cast<std::int64_t>(count), -1})
        .to(device())
        .set_requires_grad(true);
  }
};
SEAM_ON_EACH_DEVICE(ArcfaceLossTest);

TEST_P(ArcfaceLossTest, IsThatOfPytorchMetricLearning) {
  const at::AutoGradMode gradients(true);
  for (const test::ProxyAnchorGolden& golden : test::arcface_golden()) {
    const Tensor embedding = rows(golden.embedding, golden.labels.size());
    const Tensor centres =
        rows(golden.proxies, golden.proxies.size() / static_cast<std::size_t>(embedding.size(1)));
    const ArcfaceLoss result = arcface_loss(embedding, centres, golden.labels,
                                            {golden.margin / 180 * std::numbers::pi, golden.alpha});
    result.loss.backward();
    EXPECT_NEAR(result.loss.item<double>(), golden.loss, 1e-6);
    test::expect_near(embedding.grad(), golden.embedding_gradient);
    test::expect_near(centres.grad(), golden.proxies_gradient);
  }
}

TEST_P(ArcfaceLossTest, HandComputed) {
  // 60 degrees from its centre and 30 from the other: with a margin of 30 degrees the cosines
  // count as 0 and √3/2.
  const double third = std::numbers::pi / 3;
  const ArcfaceLoss result = arcface_loss(rows({3 * std::cos(third), 3 * std::sin(third)}, 1),
                                          rows({5, 0, 0, 2}, 2), {0}, {third / 2, 4});
  EXPECT_NEAR(result.loss.item<double>(), std::log1p(std::exp(2 * std::sqrt(3.0))), 1e-12);
  EXPECT_NEAR(result.positive_similarity.item<double>(), 0.5, 1e-12);
  EXPECT_EQ(result.accuracy.item<double>(), 0);
  // Opposite to its centre, θ + m is beyond π.
  const ArcfaceLoss opposite =
      arcface_loss(rows({-1, 0}, 1), rows({1, 0, 0, 1}, 2), {0}, {third, 1});
  EXPECT_NEAR(opposite.loss.item<double>(), std::log1p(std::exp(1 + third * std::sin(third))),
              1e-12);
}

TEST_P(ArcfaceLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(3);
  const auto random = [this](std::int64_t count) {
    return torch::randn({count, 4}, torch::kFloat64).to(device()).set_requires_grad(true);
  };
  const Tensor embedding = random(6);
  const Tensor centres = random(5);
  test::expect_gradients(
      [&] {
        return arcface_loss(embedding, centres, {3, 0, 0, 4, 3, 3}, {0.5, 4}).loss;
      },
      {embedding, centres});
}

TEST_P(ArcfaceLossTest, OnItsCentreTheGradientIsFinite) {
  const at::AutoGradMode gradients(true);
  const Tensor embedding = rows({1, 0, -1, 0}, 2);
  const Tensor centres = rows({1, 0, 0, 1}, 2);
  arcface_loss(embedding, centres, {0, 0}, {}).loss.backward();
  EXPECT_TRUE(torch::isfinite(embedding.grad()).all().item<bool>());
  EXPECT_TRUE(torch::isfinite(centres.grad()).all().item<bool>());
}

TEST_P(ArcfaceLossTest, WhatIsNotFiniteMakesItNaN) {
  const Tensor centres = rows({1, 0, 0, 1}, 2);
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(std::isnan(
        arcface_loss(rows({1, 0, wrong, 0}, 2), centres, {0, 1}, {}).loss.item<double>()));
  }
}

TEST(ArcfaceLossLabels, OfAnotherNumberOrWithoutACentreAreRefused) {
  const Tensor embedding = torch::randn({2, 3});
  const Tensor centres = torch::randn({4, 3});
  const auto loss = [&](const std::vector<std::int64_t>& labels) {
    (void)arcface_loss(embedding, centres, labels, {});
  };
  EXPECT_NO_THROW(loss({0, 3}));
  EXPECT_REFUSED(loss({0}), Fault::internal, "there are 1 labels for 2 embeddings");
  EXPECT_REFUSED(loss({0, 4}), Fault::internal, "label 4 is not one of the 4 proxies");
  EXPECT_REFUSED(loss({0, -1}), Fault::internal, "label -1 is not one of the 4 proxies");
}

TEST(ArcfaceLossThreads, HaveTheSameBytesForAnyNumber) {
  const torch::AutoGradMode gradients(true);
  torch::manual_seed(7);
  const Tensor embedding_values = torch::randn({61, 131});
  const Tensor centre_values = torch::randn({3997, 131});
  std::vector<std::int64_t> labels;
  for (std::int64_t row = 0; row < 61; ++row) labels.push_back(row * row);
  std::vector<std::vector<Tensor>> results;
  for (const int count : {1, 2, 3, 5, 8}) {
    const test::Threads threads(count);
    const Tensor embedding = embedding_values.clone().requires_grad_(true);
    const Tensor centres = centre_values.clone().requires_grad_(true);
    const ArcfaceLoss result = arcface_loss(embedding, centres, labels, {});
    result.loss.backward();
    results.push_back({result.loss, embedding.grad(), centres.grad()});
  }
  for (const std::vector<Tensor>& result : results) {
    for (std::size_t at = 0; at < result.size(); ++at) {
      EXPECT_TRUE(torch::equal(result[at], results[0][at])) << "number " << at;
    }
  }
}

TEST(Arcface, AnItemTooManyIsNamed) {
  seam::testing::Harness harness("arcface", std::make_unique<Arcface>());
  harness.training(true).set("items", 2).set("dimensions", 4).push(batch({"a", "b", "c"}));
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].what(),
              HasSubstr("item 'c' has no proxy: all 2 belong to other items"));
}

}  // namespace arcface_test
}  // namespace seam::stages
