#include "stages/loss/arcface.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"

namespace seam::stages::arcface_test {

Packet batch(const std::vector<std::string>& items, float factor = 1) {
  const auto rows = static_cast<std::int64_t>(items.size());
  const Tensor values = torch::arange(static_cast<float>(rows * 4)).view({rows, 4});
  return test::labelled((values * factor).sin(), items);
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

class ArcfaceLossTest : public test::BatchLossTest {};
SEAM_ON_EACH_DEVICE(ArcfaceLossTest);

TEST_P(ArcfaceLossTest, IsThatOfPytorchMetricLearning) {
  expect_golden(test::arcface_golden(), [](const Tensor& embedding, const Tensor& centres,
                                           const test::Labels& labels, const auto& o) {
    return arcface_loss(embedding, centres, labels, {o[0] / 180 * std::numbers::pi, o[1]});
  });
}

TEST_P(ArcfaceLossTest, HandComputed) {
  // 60 degrees from its centre and 30 from the other: with a margin of 30 degrees the cosines
  // count as 0 and √3/2.
  const double third = std::numbers::pi / 3;
  const MeasuredLoss result = arcface_loss(rows({3 * std::cos(third), 3 * std::sin(third)}, 1),
                                           rows({5, 0, 0, 2}, 2), {0}, {third / 2, 4});
  EXPECT_NEAR(result.loss.item<double>(), std::log1p(std::exp(2 * std::sqrt(3.0))), 1e-12);
  EXPECT_NEAR(test::measured(result, "positive_similarity"), 0.5, 1e-12);
  EXPECT_EQ(test::measured(result, "accuracy"), 0);
  // Opposite to its centre, θ + m is beyond π.
  const MeasuredLoss opposite =
      arcface_loss(rows({-1, 0}, 1), rows({1, 0, 0, 1}, 2), {0}, {third, 1});
  EXPECT_NEAR(opposite.loss.item<double>(), std::log1p(std::exp(1 + third * std::sin(third))),
              1e-12);
}

TEST_P(ArcfaceLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(3);
  const Tensor embedding = random(6, 4);
  const Tensor centres = random(5, 4);
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
  expect_nan_of_what_is_not_finite([this](const Tensor& embedding) {
    return arcface_loss(embedding, random(4, 4), {0, 1, 2, 3}, {});
  });
}

TEST(ArcfaceLossLabels, WithoutACentreAreRefused) {
  EXPECT_REFUSED((void)arcface_loss(torch::randn({2, 3}), torch::randn({4, 3}), {0, 4}, {}),
                 Fault::internal, "label 4 is not one of the 4 proxies");
}

TEST(ArcfaceLossThreads, HaveTheSameBytesForAnyNumber) {
  torch::manual_seed(7);
  test::Labels labels;
  for (std::int64_t row = 0; row < 61; ++row) labels.push_back(row * row);
  test::expect_same_bytes_for_any_threads({torch::randn({61, 131}), torch::randn({3997, 131})},
                                          [&](const std::vector<Tensor>& inputs) {
                                            return arcface_loss(inputs[0], inputs[1], labels, {});
                                          });
}

}  // namespace seam::stages::arcface_test
