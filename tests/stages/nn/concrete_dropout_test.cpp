#include "stages/nn/concrete_dropout.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn::concrete_dropout_test {

using torch::Tensor;

ConcreteDropout dropout_of(const std::vector<double>& probabilities) {
  ConcreteDropoutOptions options;
  options.capsules = static_cast<std::int64_t>(probabilities.size());
  ConcreteDropout dropout(options);
  dropout->to(torch::kFloat64);
  const torch::NoGradGuard no_gradient;
  for (std::size_t at = 0; at < probabilities.size(); ++at) {
    const double p = probabilities[at];
    dropout->p_logit[static_cast<std::int64_t>(at)] = std::log(p / (1 - p));
  }
  return dropout;
}

TEST(ConcreteDropout, IsGalsFormula) {
  const std::vector<double> p{0.1, 0.45, 0.8};
  ConcreteDropout dropout = dropout_of(p);
  torch::manual_seed(1);
  const Tensor x = torch::randn({4, 3, 2}, torch::kFloat64);
  const Tensor u = torch::rand({4, 3}, torch::kFloat64);
  const Tensor y = dropout->forward(x, u);
  for (std::int64_t n = 0; n < 4; ++n) {
    for (std::int64_t c = 0; c < 3; ++c) {
      const double q = p[static_cast<std::size_t>(c)];
      const double v = u[n][c].item<double>();
      const double odds = std::log(q) - std::log(1 - q) + std::log(v) - std::log(1 - v);
      const double z = 1 / (1 + std::exp(-odds / 0.1));
      for (std::int64_t d = 0; d < 2; ++d) {
        EXPECT_NEAR(y[n][c][d].item<double>(), x[n][c][d].item<double>() * (1 - z) / (1 - q), 1e-4);
      }
    }
  }
}

TEST(ConcreteDropout, DropsAsOftenAsItSaysAndKeepsTheMean) {
  ConcreteDropout dropout = dropout_of({0.1, 0.5, 0.9});
  const Tensor u = concrete_noise(20000, 3, {1, 2, 3, 4}, 0, torch::kFloat64);
  const Tensor y = dropout->forward(torch::ones({20000, 3, 1}, torch::kFloat64), u).squeeze(-1);
  const Tensor kept = y * (1 - dropout->probabilities());
  const Tensor dropped = (kept < 0.5).to(torch::kFloat64).mean(0);
  const Tensor mean = y.mean(0);
  const std::vector<double> p{0.1, 0.5, 0.9};
  for (std::int64_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(dropped[c].item<double>(), p[static_cast<std::size_t>(c)], 0.01);
    EXPECT_NEAR(mean[c].item<double>(), 1, 0.1);
  }
}

TEST(ConcreteDropout, RegulariserHandComputed) {
  ConcreteDropout dropout = dropout_of({0.2, 0.5});
  // Rows are outputs; columns 0 and 1 belong to the first capsule, 2 and 3 to the second.
  const Tensor weight =
      torch::tensor({{1.0, 2.0, 0.0, 1.0}, {0.0, -2.0, 3.0, 0.0}}, torch::kFloat64);
  const double entropy =
      0.2 * std::log(0.2) + 0.8 * std::log(0.8) + std::log(0.5);  // the second: 2 * 0.5 log 0.5
  EXPECT_NEAR(dropout->regulariser(weight, 0.1).item<double>(),
              0.1 * 9 / 0.8 + 0.1 * 10 / 0.5 + entropy, 1e-12);
  // Without weights it is smallest at 0.5, where the entropy is largest.
  EXPECT_NEAR(
      dropout_of({0.5})->regulariser(torch::zeros({1, 1}, torch::kFloat64), 1).item<double>(),
      -std::log(2.0), 1e-12);
}

TEST(ConcreteDropout, GradientsAreThoseOfFiniteDifferences) {
  ConcreteDropout dropout = dropout_of({0.3, 0.5, 0.6});
  torch::manual_seed(2);
  const Tensor x = torch::randn({5, 3, 2}, torch::kFloat64).requires_grad_(true);
  const Tensor weight = torch::randn({4, 6}, torch::kFloat64).requires_grad_(true);
  const Tensor u = 0.3 + 0.4 * torch::rand({5, 3}, torch::kFloat64);
  test::expect_gradients(
      [&] { return dropout->forward(x, u).square().sum() + dropout->regulariser(weight, 0.3); },
      {x, weight, dropout->p_logit}, 24, 1e-6, 1e-5);
}

TEST(ConcreteDropout, EvaluationDropsNothing) {
  ConcreteDropout dropout = dropout_of({0.9, 0.9});
  dropout->eval();
  const Tensor x = torch::randn({3, 2, 4}, torch::kFloat64);
  EXPECT_TRUE(torch::equal(dropout->forward(x, {}), x));
}

TEST(ConcreteDropout, IsFiniteForExtremeNoiseAndProbabilities) {
  ConcreteDropout dropout = dropout_of({1e-6, 0.5, 0.999});
  const Tensor u = torch::tensor({{0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}}, torch::kFloat64);
  const Tensor y = dropout->forward(torch::ones({2, 3, 1}, torch::kFloat64), u);
  const Tensor sum = y.sum() + dropout->regulariser(torch::ones({1, 3}, torch::kFloat64), 0.1);
  sum.backward();
  EXPECT_TRUE(torch::isfinite(sum).item<bool>());
  EXPECT_TRUE(torch::isfinite(dropout->p_logit.grad()).all().item<bool>());
}

TEST(ConcreteDropout, NoiseBelongsToTheKey) {
  const Tensor a = concrete_noise(4, 20, {1, 2, 3, 4}, 0);
  EXPECT_TRUE(torch::equal(a, concrete_noise(4, 20, {1, 2, 3, 4}, 0)));
  EXPECT_FALSE(torch::equal(a, concrete_noise(4, 20, {1, 2, 3, 5}, 0)));
  EXPECT_FALSE(torch::equal(a, concrete_noise(4, 20, {1, 2, 3, 4}, 1)));
  EXPECT_GE(a.min().item<float>(), 0);
  EXPECT_LE(a.max().item<float>(), 1);
}

TEST(ConcreteDropout, RefusesWhatIsNoProbability) {
  EXPECT_REFUSED(ConcreteDropout(ConcreteDropoutOptions{20, 0.0, 0.1}), Fault::configuration,
                 "a probability between 0 and 1");
  EXPECT_REFUSED(ConcreteDropout(ConcreteDropoutOptions{20, 1.0, 0.1}), Fault::configuration,
                 "a probability between 0 and 1");
  EXPECT_REFUSED(ConcreteDropout(ConcreteDropoutOptions{20, 0.1, 0.0}), Fault::configuration,
                 "a temperature above 0");
  EXPECT_REFUSED(ConcreteDropout(ConcreteDropoutOptions{0, 0.1, 0.1}), Fault::configuration,
                 "at least one capsule");
}

}  // namespace seam::nn::concrete_dropout_test
