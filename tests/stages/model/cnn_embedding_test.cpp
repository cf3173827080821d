#include "stages/model/cnn_embedding.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>

#include <vector>

#include "tests/stages/model/network_testing.hpp"
#include "tests/support/text.hpp"

namespace seam::stages::cnn_embedding_test {

const auto conformance = seam::testing::conformance<CnnEmbedding>({
    .parameters = {{"width", std::int64_t{8}},
                   {"channels", std::int64_t{24}},
                   {"dimensions", std::int64_t{10}}},
    .packets =
        [](testing::Harness&) {
          return std::vector<Packet>{test::images_of(3, 32, 32), test::images_of(3, 30, 41)};
        },
});

/// For images of 40x20 pixels, whose map has 3x2.
nn::ConvolutionalEmbeddingOptions options_for_small_images(nn::Pooling pooling) {
  nn::ConvolutionalEmbeddingOptions options;
  options.width = 4;
  options.channels = 6;
  options.dimensions = 5;
  options.pooling = pooling;
  options.image_height = 40;
  options.image_width = 20;
  return options;
}

TEST(CnnEmbedding, WithoutPoolingEachPixelHasWeightsOfWhichEqualOnesAverage) {
  const torch::NoGradGuard no_grad;
  nn::ConvolutionalEmbedding pooled(options_for_small_images(nn::Pooling::average));
  nn::ConvolutionalEmbedding flat(options_for_small_images(nn::Pooling::none));
  for (auto& weight : flat->named_parameters()) {
    const Tensor other = pooled->named_parameters()[weight.key()];
    const bool dense = weight.key() == "embedding.weight";
    weight->copy_(dense ? (other / 6).repeat_interleave(6, 1) : other);
  }
  pooled->eval();
  flat->eval();
  const Tensor images = torch::rand({2, 3, 40, 20});
  EXPECT_TRUE(torch::allclose(flat->forward(images), pooled->forward(images), 1e-4, 1e-5));
  flat->named_parameters()["embedding.weight"].select(1, 4).add_(1);  // one pixel of one channel
  EXPECT_FALSE(torch::allclose(flat->forward(images), pooled->forward(images), 1e-4, 1e-5));
}

TEST(CnnEmbedding, RejectsImagesOfAnotherSizeWithoutPooling) {
  nn::ConvolutionalEmbedding network(options_for_small_images(nn::Pooling::none));
  EXPECT_EQ(test::message_of([&] {
              network->forward(torch::rand({2, 3, 20, 40}));
            }),
            "images of 40x20 (width x height), but without pooling the dense layer is for those of "
            "20x40; resize them, or set `image_height` and `image_width`");
}

TEST(CnnEmbedding, HasAsManyNumbersAsSccapsnetNearly) {
  const nn::ConvolutionalEmbedding network(nn::ConvolutionalEmbeddingOptions{});
  std::int64_t sum = test::count_of_numbers(*network);
  for (const Tensor& buffer : network->buffers()) {
    if (buffer.is_floating_point()) sum += buffer.numel();
  }
  EXPECT_EQ(sum, 2426172);
  EXPECT_NEAR(static_cast<double>(sum), 2425536, 0.0005 * 2425536);
}

}  // namespace seam::stages::cnn_embedding_test
