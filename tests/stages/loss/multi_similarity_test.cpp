#include "stages/loss/multi_similarity.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"

namespace seam::stages::multi_similarity_test {

using test::Labels;

const auto conformance = seam::testing::conformance<MultiSimilarity>({
    .packets = [](seam::testing::Harness&) { return test::labelled_batches(); },
});

/// The paper's formulas in loops over pairs.
double by_loops(const Tensor& embedding, const Labels& labels,
                const MultiSimilarityOptions& options) {
  const std::vector<std::vector<double>> s = test::cosines(embedding);
  const std::size_t count = labels.size();
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

class MultiSimilarityLossTest : public test::BatchLossTest {};
SEAM_ON_EACH_DEVICE(MultiSimilarityLossTest);

TEST_P(MultiSimilarityLossTest, IsThePapersSumsOverPairs) {
  torch::manual_seed(3);
  for (const Labels& labels :
       {Labels{0, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 2}, {4, 4, 4, 4}, {0, 1, 2}}) {
    const Tensor embedding =
        torch::randn({static_cast<std::int64_t>(labels.size()), 5}, torch::kFloat64);
    for (const double epsilon : {0.1, 0.0, 0.5}) {
      MultiSimilarityOptions options;
      options.epsilon = epsilon;
      const MeasuredLoss result = multi_similarity_loss(embedding.to(device()), labels, options);
      EXPECT_NEAR(result.loss.item<double>(), by_loops(embedding, labels, options), 1e-12);
    }
  }
}

TEST_P(MultiSimilarityLossTest, IsThatOfPytorchMetricLearning) {
  expect_golden(test::multi_similarity_golden(),
                [](const Tensor& embedding, const Labels& labels, const std::vector<double>& o) {
                  return multi_similarity_loss(embedding, labels, {o[0], o[1], o[2], o[3]});
                });
}

TEST_P(MultiSimilarityLossTest, WithoutMinedPairsIsZero) {
  // The positives coincide, the negatives are opposite: nothing violates the order.
  const Tensor embedding =
      torch::tensor({{1.0, 0.0}, {1.0, 0.0}, {-1.0, 0.0}, {-1.0, 0.0}}, device());
  const MeasuredLoss result = multi_similarity_loss(embedding, {0, 0, 1, 1}, {});
  EXPECT_EQ(result.loss.item<double>(), 0);
  EXPECT_EQ(test::measured(result, "positive_pairs"), 0);
  EXPECT_EQ(test::measured(result, "negative_pairs"), 0);
}

TEST_P(MultiSimilarityLossTest, CountsMinedPairs) {
  // Similarities 0 to the positive and 1 to the negative, 0 and 0, and a row without a positive,
  // whose negatives violate no order.
  const Tensor embedding = torch::tensor({{1.0, 0.0}, {0.0, 1.0}, {1.0, 0.0}}, device());
  const MeasuredLoss result = multi_similarity_loss(embedding, {0, 0, 1}, {});
  EXPECT_DOUBLE_EQ(test::measured(result, "positive_pairs"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(test::measured(result, "negative_pairs"), 2.0 / 3);
}

TEST_P(MultiSimilarityLossTest, WhatIsNotFiniteMakesItNaN) {
  for (const Labels& labels : {Labels{0, 0, 1, 1}, {0, 0, 1, 2}}) {
    expect_nan_of_what_is_not_finite(
        [&](const Tensor& embedding) { return multi_similarity_loss(embedding, labels, {}); });
  }
}

TEST_P(MultiSimilarityLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor embedding = random(6, 4);
  test::expect_gradients(
      [&] {
        return multi_similarity_loss(embedding, {0, 0, 1, 1, 2, 2}, {}).loss;
      },
      {embedding});
}

TEST(MultiSimilarity, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const Labels labels = test::labels_of_fours();
  test::expect_same_bytes_for_any_threads({torch::randn({96, 368})},
                                          [&](const std::vector<Tensor>& inputs) {
                                            return multi_similarity_loss(inputs[0], labels, {});
                                          });
}

TEST(MultiSimilarity, ABatchThatTeachesNothingIsRefused) {
  test::expect_refuses_batches_without_pairs<MultiSimilarity>();
}

}  // namespace seam::stages::multi_similarity_test
