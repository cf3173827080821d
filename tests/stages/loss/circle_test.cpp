#include "stages/loss/circle.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"

namespace seam::stages::circle_test {

using test::Labels;

const auto conformance = seam::testing::conformance<Circle>({
    .packets = [](seam::testing::Harness&) { return test::labelled_batches(); },
});

/// The paper's formulas in loops over pairs of pairs.
double by_loops(const Tensor& embedding, const Labels& labels, const CircleOptions& options) {
  const std::vector<std::vector<double>> s = test::cosines(embedding);
  const auto [m, scale] = options;
  double sum = 0;
  int anchors = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double terms = 0;
    for (std::size_t p = 0; p < labels.size(); ++p) {
      if (p == i || labels[p] != labels[i]) continue;
      for (std::size_t n = 0; n < labels.size(); ++n) {
        if (labels[n] == labels[i]) continue;
        const double of_positive = std::max(0.0, 1 + m - s[i][p]) * (s[i][p] - (1 - m));
        const double of_negative = std::max(0.0, s[i][n] + m) * (s[i][n] - m);
        terms += std::exp(scale * (of_negative - of_positive));
      }
    }
    if (terms == 0) continue;
    sum += std::log1p(terms);
    ++anchors;
  }
  return sum / anchors;
}

class CircleLossTest : public test::BatchLossTest {};
SEAM_ON_EACH_DEVICE(CircleLossTest);

TEST_P(CircleLossTest, IsThePapersSumOverPairsOfPairs) {
  torch::manual_seed(3);
  for (const Labels& labels : {Labels{0, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 2}, {5, 5, 4}}) {
    const Tensor embedding =
        torch::randn({static_cast<std::int64_t>(labels.size()), 5}, torch::kFloat64);
    for (const CircleOptions& options : {CircleOptions{}, {0.25, 4}, {0, 1}}) {
      const MeasuredLoss result = circle_loss(embedding.to(device()), labels, options);
      // LibTorch's softplus(x) is x from 20 on, which leaves out exp(-x).
      EXPECT_NEAR(result.loss.item<double>(), by_loops(embedding, labels, options), 3e-9);
    }
  }
}

TEST_P(CircleLossTest, IsThatOfPytorchMetricLearning) {
  expect_golden(test::circle_golden(),
                [](const Tensor& embedding, const Labels& labels, const std::vector<double>& o) {
                  return circle_loss(embedding, labels, {o[0], o[1]});
                });
}

TEST_P(CircleLossTest, PairsAtTheirOptimaCostNothing) {
  const Tensor embedding =
      torch::tensor({{1.0, 0.0}, {1.0, 0.0}, {-1.0, 0.0}, {-1.0, 0.0}}, device());
  EXPECT_NEAR(circle_loss(embedding, {0, 0, 1, 1}, {}).loss.item<double>(), 0, 1e-4);
}

TEST_P(CircleLossTest, WhatIsNotFiniteMakesItNaN) {
  for (const Labels& labels : {Labels{0, 0, 1, 1}, {0, 0, 1, 2}}) {
    expect_nan_of_what_is_not_finite(
        [&](const Tensor& embedding) { return circle_loss(embedding, labels, {}); });
  }
}

/// The same loss with weights that are plain numbers has the same gradient.
TEST_P(CircleLossTest, TheWeightsHaveNoGradient) {
  const Tensor embedding =
      torch::tensor({{1.0, 0.2}, {0.6, 1.0}, {-0.5, 1.0}}, device()).set_requires_grad(true);
  const CircleOptions options{0.25, 1};
  circle_loss(embedding, {0, 0, 1}, options).loss.backward();
  const Tensor copy = embedding.detach().clone().set_requires_grad(true);
  const Tensor unit = copy / copy.norm(2, 1, true);
  const std::vector<std::vector<double>> s = test::cosines(embedding.detach());
  Tensor sum = torch::zeros({}, copy.options());
  for (const std::int64_t i : {0, 1}) {
    const std::int64_t p = 1 - i;
    const double a_p = 1.25 - s[static_cast<std::size_t>(i)][static_cast<std::size_t>(p)];
    const double a_n = std::max(0.0, s[static_cast<std::size_t>(i)][2] + 0.25);
    const Tensor positive = (unit[i] * unit[p]).sum();
    const Tensor negative = (unit[i] * unit[2]).sum();
    sum = sum + torch::log1p((a_n * (negative - 0.25) - a_p * (positive - 0.75)).exp());
  }
  (sum / 2).backward();
  EXPECT_TRUE(torch::allclose(embedding.grad(), copy.grad(), 1e-4, 1e-6));
}

TEST(Circle, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const Labels labels = test::labels_of_fours();
  test::expect_same_bytes_for_any_threads(
      {torch::randn({96, 368})},
      [&](const std::vector<Tensor>& inputs) { return circle_loss(inputs[0], labels, {}); });
}

TEST(Circle, ABatchThatTeachesNothingIsRefused) {
  test::expect_refuses_batches_without_pairs<Circle>();
}

}  // namespace seam::stages::circle_test
