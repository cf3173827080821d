#include "stages/loss/proxy_anchor_loss.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor_testing.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/stages/loss/expect_near.hpp"
#include "tests/stages/loss/metric_learning_golden.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace proxy_anchor_loss_test {

class ProxyAnchorLossTest : public seam::testing::EachDevice {
 protected:
  /// Rows of doubles, a leaf with a gradient.
  [[nodiscard]] Tensor rows(const std::vector<double>& values, std::size_t count) const {
    return torch::tensor(values, torch::kFloat64)
        .view({static_cast<std::int64_t>(count), -1})
        .to(device())
        .set_requires_grad(true);
  }
  [[nodiscard]] Tensor random(std::int64_t count, std::int64_t dimensions) const {
    return torch::randn({count, dimensions}, torch::kFloat64).to(device()).set_requires_grad(true);
  }
};
SEAM_ON_EACH_DEVICE(ProxyAnchorLossTest);

TEST_P(ProxyAnchorLossTest, IsThatOfPytorchMetricLearning) {
  const at::AutoGradMode gradients(true);
  for (const test::ProxyAnchorGolden& golden : test::proxy_anchor_golden()) {
    const Tensor embedding = rows(golden.embedding, golden.labels.size());
    const auto dimensions = static_cast<std::size_t>(embedding.size(1));
    const Tensor proxies = rows(golden.proxies, golden.proxies.size() / dimensions);
    const ProxyAnchorLoss result =
        proxy_anchor_loss(embedding, proxies, golden.labels, {golden.margin, golden.alpha});
    result.loss.backward();
    EXPECT_NEAR(result.loss.item<double>(), golden.loss, 1e-6);
    test::expect_near(embedding.grad(), golden.embedding_gradient);
    test::expect_near(proxies.grad(), golden.proxies_gradient);
  }
}

TEST_P(ProxyAnchorLossTest, HandComputed) {
  // The row lies on its proxy and is at right angles to the other.
  const Tensor proxies = rows({2, 0, 0, 5}, 2);
  const ProxyAnchorLoss result = proxy_anchor_loss(rows({3, 0}, 1), proxies, {0}, {0.5, 2});
  EXPECT_NEAR(result.loss.item<double>(),
              std::log1p(std::exp(-1.0)) + std::log1p(std::exp(1.0)) / 2, 1e-12);
  EXPECT_NEAR(result.positive_similarity.item<double>(), 1, 1e-12);
  // A second row of the same item, opposite to its proxy: it joins the sum of that proxy, and the
  // other proxy repels it too. The means are still over one and over two proxies.
  const ProxyAnchorLoss two = proxy_anchor_loss(rows({3, 0, -1, 0}, 2), proxies, {0, 0}, {0.5, 2});
  EXPECT_NEAR(two.loss.item<double>(),
              std::log1p(std::exp(-1.0) + std::exp(3.0)) + std::log1p(2 * std::exp(1.0)) / 2,
              1e-12);
  EXPECT_NEAR(two.positive_similarity.item<double>(), 0, 1e-12);
}

TEST_P(ProxyAnchorLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(3);
  const Tensor embedding = random(6, 4);
  const Tensor proxies = random(5, 4);
  test::expect_gradients(
      [&] {
        return proxy_anchor_loss(embedding, proxies, {3, 0, 0, 4, 3, 3}, {0.1, 4}).loss;
      },
      {embedding, proxies});
}

TEST_P(ProxyAnchorLossTest, WhatIsNotFiniteMakesItNaN) {
  const Tensor proxies = rows({1, 0, 0, 1}, 2);
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(std::isnan(
        proxy_anchor_loss(rows({1, 0, wrong, 0}, 2), proxies, {0, 1}, {}).loss.item<double>()));
  }
}

TEST(ProxyAnchorLossLabels, OfAnotherNumberOrWithoutAProxyAreRefused) {
  const Tensor embedding = torch::randn({2, 3});
  const Tensor proxies = torch::randn({4, 3});
  const auto loss = [&](const std::vector<std::int64_t>& labels) {
    (void)proxy_anchor_loss(embedding, proxies, labels, {});
  };
  EXPECT_NO_THROW(loss({0, 3}));
  EXPECT_REFUSED(loss({0}), Fault::internal, "there are 1 labels for 2 embeddings");
  EXPECT_REFUSED(loss({0, 1, 2}), Fault::internal, "there are 3 labels for 2 embeddings");
  EXPECT_REFUSED(loss({0, 4}), Fault::internal, "label 4 is not one of the 4 proxies");
  EXPECT_REFUSED(loss({0, -1}), Fault::internal, "label -1 is not one of the 4 proxies");
  EXPECT_REFUSED((void)proxy_anchor_loss(torch::empty({0, 3}), proxies, {}, {}), Fault::data,
                 "the batch has no rows");
}

TEST(ProxyAnchorLossThreads, HaveTheSameBytesForAnyNumber) {
  const torch::AutoGradMode gradients(true);
  torch::manual_seed(7);
  struct Sizes {
    std::int64_t rows;
    std::int64_t proxies;
    std::int64_t dimensions;
  };
  for (const auto& [rows, proxies, dimensions] :
       {Sizes{61, 1013, 131}, Sizes{97, 3, 368}, Sizes{2, 50021, 3}}) {
    const Tensor embedding_values = torch::randn({rows, dimensions});
    const Tensor proxy_values = torch::randn({proxies, dimensions});
    std::vector<std::int64_t> labels;
    for (std::int64_t row = 0; row < rows; ++row) labels.push_back(row * row % proxies);
    std::vector<std::vector<Tensor>> results;
    for (const int count : {1, 2, 3, 5, 8}) {
      const test::Threads threads(count);
      const Tensor embedding = embedding_values.clone().requires_grad_(true);
      const Tensor weights = proxy_values.clone().requires_grad_(true);
      const ProxyAnchorLoss result = proxy_anchor_loss(embedding, weights, labels, {});
      result.loss.backward();
      results.push_back(
          {result.loss, result.positive_similarity, embedding.grad(), weights.grad()});
    }
    for (const std::vector<Tensor>& result : results) {
      for (std::size_t at = 0; at < result.size(); ++at) {
        EXPECT_TRUE(torch::equal(result[at], results[0][at]))
            << "number " << at << " of " << proxies << " proxies";
      }
    }
  }
}

}  // namespace proxy_anchor_loss_test
}  // namespace seam::stages
