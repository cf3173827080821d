#include "stages/loss/supervised_contrastive.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>

#include <cmath>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"

namespace seam::stages::supervised_contrastive_test {

using test::Labels;

const auto conformance = seam::testing::conformance<SupervisedContrastive>({
    .packets = [](seam::testing::Harness&) { return test::labelled_batches(); },
    .refused = {{{"temperature", 0.0}}},
});

/// The paper's formula in loops over pairs.
double by_loops(const Tensor& embedding, const Labels& labels, double temperature) {
  const std::vector<std::vector<double>> cosine = test::cosines(embedding);
  const std::size_t count = labels.size();
  double sum = 0;
  int anchors = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double all = 0;
    for (std::size_t a = 0; a < count; ++a) {
      if (a != i) all += std::exp(cosine[i][a] / temperature);
    }
    double of_row = 0;
    int positives = 0;
    for (std::size_t p = 0; p < count; ++p) {
      if (p == i || labels[p] != labels[i]) continue;
      of_row -= std::log(std::exp(cosine[i][p] / temperature) / all);
      ++positives;
    }
    if (positives == 0) continue;
    sum += of_row / positives;
    ++anchors;
  }
  return sum / anchors;
}

class SupervisedContrastiveLossTest : public test::BatchLossTest {};
SEAM_ON_EACH_DEVICE(SupervisedContrastiveLossTest);

TEST_P(SupervisedContrastiveLossTest, IsThePapersSumsOverPairs) {
  torch::manual_seed(3);
  for (const Labels& labels : {Labels{0, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 2}, {4, 4, 4, 4}}) {
    const Tensor embedding =
        torch::randn({static_cast<std::int64_t>(labels.size()), 5}, torch::kFloat64);
    for (const double temperature : {0.1, 0.5, 2.0}) {
      const MeasuredLoss result =
          supervised_contrastive_loss(embedding.to(device()), labels, temperature);
      EXPECT_NEAR(result.loss.item<double>(), by_loops(embedding, labels, temperature), 1e-10);
    }
  }
}

TEST_P(SupervisedContrastiveLossTest, IsThatOfPytorchMetricLearning) {
  expect_golden(test::supervised_contrastive_golden(),
                [](const Tensor& embedding, const Labels& labels, const std::vector<double>& o) {
                  return supervised_contrastive_loss(embedding, labels, o[0]);
                });
}

TEST_P(SupervisedContrastiveLossTest, HandComputed) {
  // Two rows that coincide, and two at right angles to all: log(e + 2) - 1 for the first two.
  const Tensor embedding = rows({2, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1}, 4);
  EXPECT_NEAR(supervised_contrastive_loss(embedding, {0, 0, 1, 2}, 1).loss.item<double>(),
              std::log(std::exp(1.0) + 2) - 1, 1e-12);
}

TEST_P(SupervisedContrastiveLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor embedding = random(6, 4);
  test::expect_gradients(
      [&] {
        return supervised_contrastive_loss(embedding, {0, 0, 1, 1, 2, 0}, 0.5).loss;
      },
      {embedding});
}

TEST_P(SupervisedContrastiveLossTest, WhatIsNotFiniteMakesItNaN) {
  for (const Labels& labels : {Labels{0, 0, 1, 1}, {0, 0, 1, 2}}) {
    expect_nan_of_what_is_not_finite([&](const Tensor& embedding) {
      return supervised_contrastive_loss(embedding, labels, 0.1);
    });
  }
}

TEST(SupervisedContrastive, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const Labels labels = test::labels_of_fours();
  test::expect_same_bytes_for_any_threads(
      {torch::randn({96, 368})}, [&](const std::vector<Tensor>& inputs) {
        return supervised_contrastive_loss(inputs[0], labels, 0.1);
      });
}

TEST(SupervisedContrastive, ABatchThatTeachesNothingIsRefused) {
  test::expect_refuses_batches_without_pairs<SupervisedContrastive>();
}

TEST(SupervisedContrastive, CountsRowsWithoutAPositive) {
  const Packet packet = test::labelled(torch::eye(5), {"a", "a", "b", "c", "a"});
  EXPECT_EQ(test::metrics_of<SupervisedContrastive>(packet)["without_positive"], 2);
}

}  // namespace seam::stages::supervised_contrastive_test
