#include "stages/nn/image_features.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <vector>

#include <seam/refusal_testing.hpp>

namespace seam::nn::image_features_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

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

}  // namespace seam::nn::image_features_test
