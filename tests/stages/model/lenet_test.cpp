#include "stages/model/lenet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <vector>

#include "tests/stages/model/network_testing.hpp"

namespace seam::stages {
namespace lenet_test {

using seam::testing::Harness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Sizes = std::vector<std::int64_t>;

const auto conformance = seam::testing::conformance<LeNet>({
    .parameters = {{"image_height", std::int64_t{32}},
                   {"image_width", std::int64_t{32}},
                   {"dimensions", std::int64_t{6}}},
    .packets =
        [](Harness&) {
          return std::vector<Packet>{test::images_of(5, 32, 32), test::images_of(3, 32, 32)};
        },
    .refused = {{{"hidden", Sizes{4}}}, {{"image_width", std::int64_t{15}}}},
});

TEST(LeNet, HasTheNumbersOfItsLayers) {
  nn::LeNetOptions options;
  options.image_height = 32;
  options.image_width = 32;
  options.dimensions = 10;
  // 6 (75 + 1) + 16 (150 + 1) + 120 (400 + 1) + 84 (120 + 1) + 10 (84 + 1)
  EXPECT_EQ(test::count_of_numbers(*nn::LeNet(options)), 456 + 2416 + 48'120 + 10'164 + 850);
}

TEST(LeNet, TakesTheSmallestAndRefusesOtherImages) {
  nn::LeNetOptions options;
  options.image_height = 16;
  options.image_width = 17;
  nn::LeNet network(options);
  const torch::Tensor embedding = network->forward(torch::rand({2, 3, 16, 17}));
  EXPECT_THAT(embedding.sizes().vec(), ElementsAre(2, 20));
  EXPECT_NEAR(embedding[0].norm().item<double>(), 1, 1e-6);
  Harness harness("model", std::make_unique<LeNet>());
  harness.push(test::images_of(1, 64, 64));
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].full_message(), HasSubstr("for images of 100x100 pixels"));
}

}  // namespace lenet_test
}  // namespace seam::stages
