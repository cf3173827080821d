#include "stages/model/dense_decoder.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/refusal_testing.hpp>

#include <vector>

#include "tests/stages/nn/network_properties.hpp"

namespace seam::nn::dense_decoder_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

TEST(DenseDecoder, HasTheLayersOfTheFirstCapsuleNetwork) {
  DenseDecoderOptions options;
  options.classes = 10;
  options.capsule_size = 16;
  const DenseDecoder decoder(options, 1);
  Sizes numbers;
  for (const Tensor& parameter : decoder->parameters()) numbers.push_back(parameter.numel());
  EXPECT_EQ(numbers, (Sizes{81'920, 512, 524'288, 1'024, 802'816, 784}));
}

DenseDecoderOptions small(std::int64_t channels) {
  DenseDecoderOptions options;
  options.classes = 3;
  options.capsule_size = 4;
  options.hidden = {5, 6};
  options.channels = channels;
  options.images = {2, 3};
  return options;
}

TEST(DenseDecoder, DrawsTheKeptCapsuleByItsLayers) {
  torch::manual_seed(1);
  const Tensor capsules = torch::randn({4, 3, 4}, torch::kFloat64);
  const Tensor categories = torch::tensor({2, 0, 1, 2}, torch::kInt64);
  for (const std::int64_t channels : {1, 3}) {
    DenseDecoder decoder(small(channels), 2);
    decoder->to(torch::kFloat64);
    const Tensor picture = decoder->forward(capsules, categories);
    ASSERT_EQ(picture.sizes(), (Sizes{4, 3, 2, 3}));
    auto at = decoder->named_parameters();
    for (std::int64_t row = 0; row < 4; ++row) {
      Tensor x = torch::zeros({12}, torch::kFloat64);
      const auto kept = categories[row].item<std::int64_t>();
      x.narrow(0, 4 * kept, 4).copy_(capsules[row][kept]);
      x = torch::relu(at["0.weight"].matmul(x) + at["0.bias"]);
      x = torch::relu(at["1.weight"].matmul(x) + at["1.bias"]);
      x = torch::sigmoid(at["2.weight"].matmul(x) + at["2.bias"]).view({channels, 2, 3});
      EXPECT_TRUE(torch::allclose(picture[row], x.expand({3, 2, 3}), 1e-10, 1e-12));
    }
  }
}

TEST(DenseDecoder, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  DenseDecoder decoder(small(1), 2);
  decoder->to(torch::kFloat64);
  const Tensor capsules = torch::randn({4, 3, 4}, torch::kFloat64).requires_grad_();
  const Tensor categories = torch::tensor({2, 0, 1, 2}, torch::kInt64);
  test::expect_gradients([&] { return decoder->forward(capsules, categories).square().sum(); },
                         test::with_weights({capsules}, *decoder));
}

TEST(DenseDecoder, RefusesSizesThatMakeNoPicture) {
  EXPECT_REFUSED(DenseDecoder(small(2), 1), Fault::configuration, "1 or 3 channels");
  DenseDecoderOptions none = small(1);
  none.hidden = {0};
  EXPECT_REFUSED(DenseDecoder(none, 1), Fault::configuration, "sizes of at least 1");
}

}  // namespace seam::nn::dense_decoder_test
