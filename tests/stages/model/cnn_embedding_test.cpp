#include "stages/model/cnn_embedding.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>

#include <vector>

#include "tests/stages/model/network_testing.hpp"

namespace seam::stages {
namespace cnn_embedding_test {

const auto conformance = seam::testing::conformance<CnnEmbedding>({
    .parameters = {{"width", std::int64_t{8}},
                   {"channels", std::int64_t{24}},
                   {"dimensions", std::int64_t{10}}},
    .packets =
        [](testing::Harness&) {
          return std::vector<Packet>{test::images_of(3, 32, 32), test::images_of(3, 30, 41)};
        },
});

TEST(CnnEmbedding, HasAsManyNumbersAsSccapsnetNearly) {
  const nn::ConvolutionalEmbedding network(nn::ConvolutionalEmbeddingOptions{});
  std::int64_t sum = test::count_of_numbers(*network);
  for (const Tensor& buffer : network->buffers()) {
    if (buffer.is_floating_point()) sum += buffer.numel();
  }
  EXPECT_EQ(sum, 2426172);
  EXPECT_NEAR(static_cast<double>(sum), 2425536, 0.0005 * 2425536);
}

}  // namespace cnn_embedding_test
}  // namespace seam::stages
