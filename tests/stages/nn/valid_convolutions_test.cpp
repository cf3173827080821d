#include "stages/nn/valid_convolutions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <vector>

#include <seam/error.hpp>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace valid_convolutions_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

ValidConvolutionsOptions small(Normalisation normalisation) {
  ValidConvolutionsOptions options;
  options.layers = {{4, 5, 1}, {6, 3, 2}, {8, 3, 2}};
  options.normalisation = normalisation;
  options.slope = 0.2;
  return options;
}

/// By torch::conv2d and the definition of batch normalisation.
Tensor as_described(const ValidConvolutions& features, Tensor x, bool normalised, double slope) {
  auto at = features->named_parameters();
  const Sizes strides{1, 2, 2};
  for (std::size_t layer = 0; layer < strides.size(); ++layer) {
    const std::string name = std::to_string(layer);
    x = torch::conv2d(x, at[name + ".c.weight"], at[name + ".c.bias"], strides[layer]);
    if (layer + 1 == strides.size()) return x;
    if (normalised) {
      const Tensor mean = x.mean({0, 2, 3}, true);
      x = (x - mean) / torch::sqrt((x - mean).square().mean({0, 2, 3}, true) + 1e-3);
    }
    x = torch::where(x > 0, x, slope * x);
  }
  return x;
}

TEST(ValidConvolutions, ComputeWhatTheyAreDescribedAs) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({3, 3, 20, 17}, torch::kFloat64);
  for (const Normalisation normalisation : {Normalisation::none, Normalisation::batch}) {
    ValidConvolutions features(small(normalisation), 2);
    features->to(torch::kFloat64);
    const Tensor actual = features->forward(images, {});
    EXPECT_TRUE(torch::allclose(
        actual, as_described(features, images, normalisation == Normalisation::batch, 0.2), 1e-10,
        1e-11));
    const MapSize size = features->map_size(20, 17);
    EXPECT_EQ(actual.sizes(), (Sizes{3, size.channels, size.height, size.width}));
  }
}

TEST(ValidConvolutions, TheLastIsPaddedAsTensorFlowDoesWhereAsked) {
  const torch::NoGradGuard no_gradient;
  for (const std::int64_t size : {20, 17}) {
    ValidConvolutionsOptions options = small(Normalisation::none);
    ValidConvolutions plain(options, 2);
    options.last_padding = LastPadding::same;
    ValidConvolutions padded(options, 2);
    const Tensor images = torch::rand({1, 3, size, size});
    const Tensor actual = padded->forward(images, {});
    const MapSize map = padded->map_size(size, size);
    EXPECT_EQ(actual.sizes(), (Sizes{1, map.channels, map.height, map.width}));

    // 16 and 13 wide, 7 and 6 after the second: a window of 3 every 2 covers 7 with one more on
    // each side, and 6 with one on the right.
    const Tensor middle = torch::leaky_relu(
        torch::conv2d(
            torch::leaky_relu(
                torch::conv2d(images, padded->parameters()[0], padded->parameters()[1]), 0.2),
            padded->parameters()[2], padded->parameters()[3], 2),
        0.2);
    const std::int64_t before = middle.size(2) == 7 ? 1 : 0;
    const Tensor wide = torch::constant_pad_nd(middle, {before, 1, before, 1}, 0);
    const Tensor expected =
        torch::conv2d(wide, padded->parameters()[4], padded->parameters()[5], 2);
    EXPECT_TRUE(torch::allclose(actual, expected, 1e-5, 1e-6)) << size;
    EXPECT_EQ(map.height, middle.size(2) == 7 ? 4 : 3);
    EXPECT_EQ(plain->map_size(size, size).height, middle.size(2) == 7 ? 3 : 2);
  }
}

TEST(ValidConvolutions, HaveTheNumbersOfTheFirstCapsuleNetwork) {
  ValidConvolutionsOptions options;
  options.layers = {{256, 9, 1}, {256, 9, 2}};
  options.normalisation = Normalisation::none;
  const ValidConvolutions features(options, 1);
  Sizes numbers;
  for (const Tensor& parameter : features->parameters()) numbers.push_back(parameter.numel());
  EXPECT_EQ(numbers, (Sizes{62208, 256, 5308416, 256}));
  EXPECT_EQ(features->map_size(28, 28).height, 6);
}

TEST(ValidConvolutions, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(2);
  ValidConvolutionsOptions options = small(Normalisation::batch);
  options.dropout = 0.3;
  ValidConvolutions features(options, 2);
  features->to(torch::kFloat64);
  const Tensor images = torch::rand({2, 3, 15, 15}, torch::kFloat64);
  const Tensor direction = torch::randn({2, 8, 2, 2}, torch::kFloat64);
  test::expect_gradients(
      [&] {
        return (features->forward(images, {1, 2, 3, 4}) * direction).sum();
      },
      features->parameters(), 8, 1e-6, 1e-5);
}

TEST(ValidConvolutions, ImagesThatAreTooSmallAreNamed) {
  ValidConvolutions features(small(Normalisation::none), 2);
  try {
    (void)features->forward(torch::rand({1, 3, 8, 40}), {});
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("images of 40x8 (width x height)"));
  }
}

}  // namespace valid_convolutions_test
}  // namespace seam::nn
