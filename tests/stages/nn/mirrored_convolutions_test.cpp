#include "stages/nn/mirrored_convolutions.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <vector>

#include <seam/refusal_testing.hpp>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace mirrored_convolutions_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

MirroredConvolutionsOptions small() {
  MirroredConvolutionsOptions options;
  options.in_channels = 1;
  options.mirrored = {3, 4};
  options.primary = {6, 3, 2};
  return options;
}

/// x[y][x] of an image [h,w] outside of it, mirrored at its border.
Tensor mirrored(const Tensor& x) {
  const std::int64_t height = x.size(2);
  const std::int64_t width = x.size(3);
  const auto inside = [](std::int64_t at, std::int64_t size) {
    return at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
  };
  Tensor y = torch::empty({x.size(0), x.size(1), height + 2, width + 2}, x.options());
  for (std::int64_t row = -1; row <= height; ++row) {
    for (std::int64_t column = -1; column <= width; ++column) {
      y.select(2, row + 1)
          .select(2, column + 1)
          .copy_(x.select(2, inside(row, height)).select(2, inside(column, width)));
    }
  }
  return y;
}

TEST(MirroredConvolutions, ComputeWhatTheyAreDescribedAs) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradient;
  MirroredConvolutionsOptions options = small();
  options.dropout = 0;
  MirroredConvolutions features(options, 2);
  features->to(torch::kFloat64);
  auto at = features->named_parameters();
  const Tensor images = torch::rand({3, 1, 11, 14}, torch::kFloat64);
  Tensor x = images;
  for (const std::string layer : {"0", "1"}) {
    x = torch::relu(torch::conv2d(mirrored(x), at[layer + ".c.weight"], at[layer + ".c.bias"]));
    const Tensor mean = x.mean({0, 2, 3}, true);
    x = (x - mean) / torch::sqrt((x - mean).square().mean({0, 2, 3}, true) + 1e-5);
  }
  x = torch::conv2d(x, at["halve.weight"], at["halve.bias"], 2);
  x = torch::conv2d(x, at["primary.weight"], at["primary.bias"], 2);
  const Tensor actual = features->forward(images, {});
  EXPECT_TRUE(torch::allclose(actual, x, 1e-9, 1e-10));
  const MapSize size = features->map_size(11, 14);
  EXPECT_EQ(actual.sizes(), (Sizes{3, size.channels, size.height, size.width}));
}

TEST(MirroredConvolutions, OfTheReleasedCodeGive21By21PlacesForImagesOf100By100) {
  const MirroredConvolutions features(MirroredConvolutionsOptions{}, 1);
  EXPECT_EQ(features->map_size(100, 100).height, 21);
  EXPECT_EQ(features->map_size(100, 100).width, 21);
}

TEST(MirroredConvolutions, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(2);
  MirroredConvolutions features(small(), 2);
  features->to(torch::kFloat64);
  const Tensor images = torch::rand({3, 1, 8, 8}, torch::kFloat64);
  const Tensor direction = torch::randn({3, 6, 1, 1}, torch::kFloat64);
  test::expect_gradients(
      [&] {
        return (features->forward(images, {1, 2, 3, 4}) * direction).sum();
      },
      features->parameters(), 8, 1e-6, 1e-5);
}

TEST(MirroredConvolutions, ImagesThatAreTooSmallAreNamed) {
  const MirroredConvolutions features(MirroredConvolutionsOptions{}, 1);
  EXPECT_REFUSED((void)features->map_size(17, 40), Fault::data, "images of 40x17 (width x height)");
}

TEST(ImageFeatures, OneChannelIsTheLuminanceAndOfGreyImagesExactlyTheirGrey) {
  const Tensor colours =
      torch::tensor({1.0F, 0.0F, 0.0F, 0.0F, 1.0F, 0.0F, 0.0F, 0.0F, 1.0F}).view({3, 3, 1, 1});
  const Tensor luminance = as_channels(colours, 1);
  EXPECT_EQ(luminance.sizes(), (Sizes{3, 1, 1, 1}));
  EXPECT_NEAR(luminance[0].item<double>(), 0.299, 1e-6);
  EXPECT_NEAR(luminance[1].item<double>(), 0.587, 1e-6);
  EXPECT_NEAR(luminance[2].item<double>(), 0.114, 1e-6);
  const Tensor grey = torch::rand({2, 1, 5, 4});
  EXPECT_TRUE(torch::equal(as_channels(grey.expand({2, 3, 5, 4}), 1), grey));
  EXPECT_TRUE(torch::equal(as_channels(colours, 3), colours));
  EXPECT_REFUSED((void)as_channels(colours, 2), Fault::internal, "not [3, 3, 1, 1] images of 2");
  EXPECT_REFUSED((void)as_channels(grey, 1), Fault::internal, "not [2, 1, 5, 4] images of 1");
}

}  // namespace mirrored_convolutions_test
}  // namespace seam::nn
