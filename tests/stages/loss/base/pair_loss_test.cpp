#include "stages/loss/base/pair_loss.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/tensor_testing.hpp>

#include <cmath>
#include <vector>

#include "stages/loss/contrastive.hpp"
#include "stages/loss/double_margin.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages::pair_loss_test {

class PairLossesTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(PairLossesTest);

TEST_P(PairLossesTest, DistancesHandComputed) {
  const Tensor x = torch::tensor({{0.0, 0.0}, {1.0, 1.0}}, torch::kFloat64).to(device());
  const Tensor y = torch::tensor({{3.0, -4.0}, {1.0, 1.0}}, torch::kFloat64).to(device());
  // With epsilon added to each difference, as in PyTorch's pairwise_distance.
  const Tensor near = pair_distances(x, y, PairedDistance::euclidean);
  EXPECT_NEAR(near[0].item<double>(), std::hypot(3 - 1e-6, 4 + 1e-6), 1e-12);
  EXPECT_NEAR(near[1].item<double>(), std::sqrt(2) * 1e-6, 1e-12);
  const Tensor manhattan = pair_distances(x, y, PairedDistance::exp_manhattan);
  EXPECT_NEAR(manhattan[0].item<double>(), 1 - std::exp(-7.0), 1e-12);
  EXPECT_DOUBLE_EQ(manhattan[1].item<double>(), 0);
}

TEST_P(PairLossesTest, DistancesAreThoseOfPyTorch) {
  torch::manual_seed(3);
  const Tensor x = torch::randn({6, 5}, torch::kFloat64).to(device());
  const Tensor y = torch::randn({6, 5}, torch::kFloat64).to(device());
  EXPECT_TRUE(torch::allclose(pair_distances(x, y, PairedDistance::euclidean),
                              torch::pairwise_distance(x, y), 1e-12, 1e-12));
}

struct Case {
  double distance, same, hadsell, equation4, double_margin;
};

TEST_P(PairLossesTest, HandComputed) {
  // Margin 0.4; double margins 0.2 and 0.5. equation4 has D = d² and no square of the hinge.
  const std::vector<Case> cases{
      {0.3, 1, 0.09, 0.045, 0.01},    // too far by 0.1
      {0.1, 1, 0.01, 0.005, 0},       // near enough
      {0.3, 0, 0.01, 0.155, 0.04},    // 0.4 - 0.3; (0.4 - 0.09) / 2; 0.5 - 0.3
      {0.45, 0, 0, 0.09875, 0.0025},  // beyond 0.4; (0.4 - 0.2025) / 2; 0.05²
      {0.7, 0, 0, 0, 0}};
  for (const Case& c : cases) {
    const Tensor distance = torch::tensor({c.distance}, torch::kFloat64).to(device());
    const Tensor same = torch::tensor({c.same}, torch::kFloat64).to(device());
    const auto contrastive = [&](ContrastiveForm form) {
      return contrastive_losses(distance, same, {form, PairedDistance::euclidean, 0.4})
          .item<double>();
    };
    EXPECT_NEAR(contrastive(ContrastiveForm::hadsell), c.hadsell, 1e-12) << c.distance;
    EXPECT_NEAR(contrastive(ContrastiveForm::equation4), c.equation4, 1e-12) << c.distance;
    EXPECT_NEAR(double_margin_losses(distance, same, 0.2, 0.5).item<double>(), c.double_margin,
                1e-12)
        << c.distance;
  }
}

TEST_P(PairLossesTest, Equation4DoesNotSquareADistanceFromZeroToOne) {
  const Tensor distance = torch::tensor({0.3, 0.3}, torch::kFloat64).to(device());
  const Tensor same = torch::tensor({1.0, 0.0}, torch::kFloat64).to(device());
  const Tensor losses = contrastive_losses(
      distance, same, {ContrastiveForm::equation4, PairedDistance::exp_manhattan, 0.4});
  EXPECT_NEAR(losses[0].item<double>(), 0.15, 1e-12);
  EXPECT_NEAR(losses[1].item<double>(), 0.05, 1e-12);
}

/// Whatever the form and the distance, a step along the negative gradient brings matching pairs
/// nearer and others farther apart.
TEST_P(PairLossesTest, GradientsPullMatchingPairsAndAreThoseOfFiniteDifferences) {
  const torch::AutoGradMode gradients(true);  // a stage that was evaluated here turned them off
  torch::manual_seed(5);
  const Tensor same = torch::tensor({1.0, 0.0, 1.0, 0.0}, torch::kFloat64).to(device());
  for (const PairedDistance distance : {PairedDistance::euclidean, PairedDistance::exp_manhattan}) {
    for (int which = 0; which < 3; ++which) {
      const std::vector<Tensor> both{
          (torch::randn({4, 3}, torch::kFloat64) * 0.1).to(device()).requires_grad_(true),
          (torch::randn({4, 3}, torch::kFloat64) * 0.1).to(device()).requires_grad_(true)};
      const auto loss = [&] {
        const Tensor distances = pair_distances(both[0], both[1], distance);
        if (which == 2) return double_margin_losses(distances, same, 0.05, 0.9).sum();
        const auto form = which == 0 ? ContrastiveForm::hadsell : ContrastiveForm::equation4;
        return contrastive_losses(distances, same, {form, distance, 0.9}).sum();
      };
      test::expect_gradients(loss, both);
      const torch::NoGradGuard no_gradient;
      const Tensor before = pair_distances(both[0], both[1], distance);
      const Tensor after = pair_distances(both[0] - 1e-3 * both[0].grad(),
                                          both[1] - 1e-3 * both[1].grad(), distance);
      EXPECT_TRUE(torch::where(same == 1, after<before, after> before).all().item<bool>());
    }
  }
}

TEST_P(PairLossesTest, EqualEmbeddingsHaveFiniteGradients) {
  const torch::AutoGradMode gradients(true);
  for (const PairedDistance distance : {PairedDistance::euclidean, PairedDistance::exp_manhattan}) {
    for (const double apart : {0.0, -pair_epsilon}) {  // with epsilon, the latter are at distance 0
      const Tensor x =
          torch::full({2, 3}, apart, torch::kFloat64).to(device()).requires_grad_(true);
      const Tensor y = torch::zeros({2, 3}, torch::kFloat64).to(device());
      const Tensor same = torch::tensor({1.0, 0.0}, torch::kFloat64).to(device());
      contrastive_losses(pair_distances(x, y, distance), same, {}).sum().backward();
      EXPECT_TRUE(torch::isfinite(x.grad()).all().item<bool>()) << apart;
    }
  }
}

}  // namespace seam::stages::pair_loss_test
