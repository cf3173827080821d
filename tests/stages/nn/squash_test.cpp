#include "stages/nn/squash.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn::squash_test {

TEST(Squash, HandComputed) {
  // |s| = 5: length 25/26 along (0.6, 0.8).
  const torch::Tensor v = squash(torch::tensor({{3.0, 4.0}}, torch::kFloat64), 0.0);
  EXPECT_NEAR(v[0][0].item<double>(), 0.6 * 25 / 26, 1e-12);
  EXPECT_NEAR(v[0][1].item<double>(), 0.8 * 25 / 26, 1e-12);
}

TEST(Squash, EqualsTensorOperations) {
  torch::manual_seed(1);
  for (const std::int64_t size : {1, 5, 16, 33}) {
    const torch::Tensor s = torch::randn({30, 100, size});  // several tasks of 1,024 vectors
    EXPECT_TRUE(torch::allclose(squash(s), squash_reference(s), 1e-6, 1e-7)) << size;
  }
}

constexpr SquashForm all_forms[] = {SquashForm::epsilon_in_root, SquashForm::epsilon_after_root,
                                    SquashForm::tanh, SquashForm::none};

TEST(Squash, FormsAreAsDescribed) {
  const torch::Tensor s = torch::tensor({{3.0, -4.0}}, torch::kFloat64);
  const auto second = [&](SquashForm form, double epsilon) {
    return squash(s, form, epsilon)[0][1].item<double>();
  };
  EXPECT_NEAR(second(SquashForm::epsilon_in_root, 11), 25.0 / 26 * -4 / 6, 1e-12);
  EXPECT_NEAR(second(SquashForm::epsilon_after_root, 1), 25.0 / 26 * -4 / 6, 1e-12);
  EXPECT_NEAR(second(SquashForm::tanh, 1), std::tanh(-4.0), 1e-12);
  EXPECT_EQ(second(SquashForm::none, 1), -4);
}

TEST(Squash, EveryFormHasTheGradientOfFiniteDifferencesAndAFiniteOneAtZero) {
  torch::manual_seed(4);
  for (const SquashForm form : all_forms) {
    const torch::Tensor s = torch::randn({4, 6}, torch::kFloat64).requires_grad_(true);
    const torch::Tensor weight = torch::randn({4, 6}, torch::kFloat64);
    test::expect_gradients([&] { return (squash(s, form, 1e-7) * weight).sum(); }, {s});
    const torch::Tensor zero = torch::zeros({2, 19}).requires_grad_(true);
    const torch::Tensor v = squash(zero, form, 1e-7);
    v.sum().backward();
    EXPECT_EQ(v.abs().max().item<float>(), 0.0F);
    EXPECT_TRUE(torch::isfinite(zero.grad()).all().item<bool>());
  }
}

TEST(Squash, TakesAnyLayout) {
  torch::manual_seed(3);
  const torch::Tensor s = torch::randn({5, 4, 16}).transpose(0, 1);
  EXPECT_TRUE(torch::allclose(squash(s), squash_reference(s), 1e-6, 1e-7));
}

}  // namespace seam::nn::squash_test
