#include "stages/nn/capsule_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <vector>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor.hpp>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace capsule_decoder_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

CapsuleDecoderOptions small() {
  CapsuleDecoderOptions options;
  options.classes = 3;
  options.capsule_size = 4;
  options.images = {12, 8};
  options.dense_channels = 5;
  options.layers = {{6, 5, 2}, {4, 3, 1}, {3, 4, 2}};
  return options;
}

TEST(CapsuleDecoder, HasTheSizesOfTheClassifiers) {
  const CapsuleDecoder decoder(CapsuleDecoderOptions{}, 1);
  auto numbers = decoder->named_parameters();
  EXPECT_EQ(numbers["dense.weight"].sizes(), (Sizes{7 * 7 * 256, 46 * 16}));
  EXPECT_EQ(numbers["conv1.weight"].sizes(), (Sizes{256, 256, 9, 9}));
  EXPECT_EQ(numbers["conv4.weight"].sizes(), (Sizes{64, 32, 9, 9}));
  EXPECT_EQ(numbers["conv5.weight"].sizes(), (Sizes{32, 3, 9, 9}));
  EXPECT_FALSE(numbers.contains("bn5.weight"));
}

/// A transposed convolution is the gradient of a convolution with "SAME" padding.
TEST(CapsuleDecoder, EachConvolutionIsTheGradientOfOneWithSamePadding) {
  torch::manual_seed(1);
  for (const auto& [kernel, stride] :
       {std::pair{9, 2}, std::pair{4, 2}, std::pair{7, 2}, std::pair{5, 1}, std::pair{3, 3}}) {
    CapsuleDecoderOptions options = small();
    options.images = {6 * stride, 4 * stride};
    options.layers = {{3, kernel, stride}};
    CapsuleDecoder decoder(options, 2);
    decoder->to(torch::kFloat64);
    const torch::NoGradGuard no_gradient;
    auto weights = decoder->named_parameters();
    const Tensor capsules = torch::randn({2, 3, 4}, torch::kFloat64);
    const Tensor categories = torch::tensor({2, 0}, torch::kInt64);
    const Tensor drawn = decoder->forward(capsules, categories);
    ASSERT_EQ(drawn.sizes(), (Sizes{2, 3, 6 * stride, 4 * stride}));
    const Tensor dense = torch::relu(torch::linear(mask_capsules(capsules, categories),
                                                   weights["dense.weight"], weights["dense.bias"]));
    const Tensor x = dense.view({2, 6, 4, 5}).permute({0, 3, 1, 2});  // pixel by pixel
    const at::AutoGradMode gradients(true);
    const Tensor picture = torch::zeros_like(drawn).requires_grad_(true);
    const Tensor convolved =
        torch::conv2d(same_padded(picture, kernel, stride), weights["conv1.weight"], {}, stride);
    (convolved * x).sum().backward();
    EXPECT_TRUE(torch::allclose(torch::logit(drawn), picture.grad(), 1e-9, 1e-10))
        << kernel << ", " << stride;
  }
}

TEST(CapsuleDecoder, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(2);
  CapsuleDecoder decoder(small(), 2);
  decoder->to(torch::kFloat64);
  std::vector<Tensor> inputs = decoder->parameters();
  inputs.push_back(torch::randn({2, 3, 4}, torch::kFloat64).requires_grad_(true));
  const Tensor categories = torch::tensor({1, 2}, torch::kInt64);
  const Tensor direction = torch::randn({2, 3, 12, 8}, torch::kFloat64);
  test::expect_gradients(
      [&] { return (decoder->forward(inputs.back(), categories) * direction).sum(); }, inputs, 8,
      1e-6, 1e-5);
}

TEST(CapsuleDecoder, DrawsTheCapsuleOfTheCategoryAlone) {
  torch::manual_seed(3);
  CapsuleDecoder decoder(small(), 2);
  decoder->eval();
  const torch::NoGradGuard no_gradient;
  const Tensor capsules = torch::randn({1, 3, 4});
  const Tensor category = torch::tensor({1}, torch::kInt64);
  const Tensor drawn = decoder->forward(capsules, category);
  Tensor others = capsules.clone();
  others[0][0].fill_(9);
  others[0][2].fill_(-9);
  EXPECT_TRUE(torch::equal(decoder->forward(others, category), drawn));
  EXPECT_FALSE(torch::equal(decoder->forward(capsules, category + 1), drawn));
}

TEST(CapsuleDecoder, ThreadsDoNotChangeAByteOfAStep) {
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    torch::manual_seed(4);
    CapsuleDecoderOptions options = small();
    options.images = {48, 32};
    CapsuleDecoder decoder(options, 2);
    const Tensor capsules = torch::randn({9, 3, 4}).requires_grad_(true);
    const Tensor drawn =
        decoder->forward(capsules, torch::tensor({0, 1, 2, 0, 1, 2, 0, 1, 2}, torch::kInt64));
    drawn.square().sum().backward();
    std::vector<Tensor> all{drawn.detach(), capsules.grad()};
    for (const Tensor& weight : decoder->parameters()) all.push_back(weight.grad());
    for (const Tensor& buffer : decoder->buffers()) all.push_back(buffer);
    return all;
  };
  const std::vector<Tensor> one = with_threads(1);
  for (const int count : {2, 8}) {
    const std::vector<Tensor> more = with_threads(count);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], more[i])) << i;
  }
}

TEST(CapsuleDecoder, UnderAutocastItIsCloseToFloat) {
  torch::manual_seed(5);
  CapsuleDecoder decoder(small(), 2);
  const Tensor capsules = torch::randn({4, 3, 4});
  const auto passed = [&](Precision precision) {
    const Autocast autocast(torch::kCPU, precision);
    return decoder->forward(capsules, torch::tensor({0, 1, 2, 0}, torch::kInt64));
  };
  const Tensor expected = passed(Precision::float32).detach();
  const Tensor actual = passed(Precision::bfloat16);
  EXPECT_EQ(actual.scalar_type(), torch::kFloat32);
  EXPECT_LT((actual.detach() - expected).norm().item<double>(),
            0.05 * expected.norm().item<double>());
  actual.sum().backward();
  for (const auto& item : decoder->named_parameters()) {
    EXPECT_TRUE(torch::isfinite(item.value().grad()).all().item<bool>()) << item.key();
  }
}

TEST(CapsuleDecoder, RefusesSizesThatDoNotFit) {
  CapsuleDecoderOptions options = small();
  options.images = {12, 10};
  try {
    const CapsuleDecoder decoder(options, 1);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("`image_width` (10) must be multiples of it"));
  }
  options = small();
  options.layers.back().out_channels = 4;
  EXPECT_REFUSED(CapsuleDecoder(options, 1), Fault::configuration,
                 "3 channels in its last convolution");
  options.layers = {{3, 1, 2}};
  EXPECT_REFUSED(CapsuleDecoder(options, 1), Fault::configuration,
                 "kernels at least as large as their strides");
  CapsuleDecoder decoder(small(), 1);
  EXPECT_REFUSED((void)decoder->forward(torch::zeros({1, 4, 4}), torch::zeros({1}, torch::kInt64)),
                 Fault::internal, "the decoder needs 3 capsules of 4 elements");
  EXPECT_REFUSED(
      (void)decoder->forward(torch::zeros({1, 3, 4}), torch::full({1}, 3, torch::kInt64)),
      Fault::data, "category 3 is outside the model's 3 classes");
}

}  // namespace capsule_decoder_test
}  // namespace seam::nn
