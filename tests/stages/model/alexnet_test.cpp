/// The plain convolutional networks that faces are compared with: model.alexnet and model.lenet.
#include "stages/model/alexnet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <string>
#include <vector>

#include "stages/model/lenet.hpp"

namespace seam::stages {
namespace {

using seam::testing::Harness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Sizes = std::vector<std::int64_t>;

Packet batch(std::int64_t images, std::int64_t size) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::images, torch::rand({images, 3, size, size}));
  return packet;
}

const auto conformance_of_alexnet = seam::testing::conformance<AlexNet>({
    .parameters = {{"channels", Sizes{4, 4, 4, 4, 4}},
                   {"hidden", std::int64_t{8}},
                   {"dimensions", std::int64_t{6}}},
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(5, 63), batch(3, 63)};
        },
    .training = true,
    .refused = {{{"channels", Sizes{4, 4}}}},
});
const auto conformance_of_lenet = seam::testing::conformance<LeNet>({
    .parameters = {{"image_height", std::int64_t{32}},
                   {"image_width", std::int64_t{32}},
                   {"dimensions", std::int64_t{6}}},
    .packets =
        [](Harness&) {
          return std::vector<Packet>{batch(5, 32), batch(3, 32)};
        },
    .training = true,
    .refused = {{{"hidden", Sizes{4}}}, {{"image_width", std::int64_t{15}}}},
});

/// Numbers in the weights of a network, and their names in order.
std::int64_t numbers(const torch::nn::Module& network) {
  std::int64_t sum = 0;
  for (const torch::Tensor& weight : network.parameters()) sum += weight.numel();
  return sum;
}

TEST(AlexNet, HasTheNumbersAndNamesOfTorchvision) {
  nn::AlexNetOptions options;
  options.dimensions = 1000;
  const nn::AlexNet network(options);
  EXPECT_EQ(numbers(*network), 61'100'840);  // torchvision's
  std::vector<std::string> names;
  for (const auto& weight : network->named_parameters()) names.push_back(weight.key());
  EXPECT_THAT(names, ElementsAre("features.0.weight", "features.0.bias", "features.3.weight",
                                 "features.3.bias", "features.6.weight", "features.6.bias",
                                 "features.8.weight", "features.8.bias", "features.10.weight",
                                 "features.10.bias", "classifier.1.weight", "classifier.1.bias",
                                 "classifier.4.weight", "classifier.4.bias", "embedding.weight",
                                 "embedding.bias"));
}

TEST(AlexNet, RefusesImagesOfWhichNothingIsLeft) {
  Harness harness("model", std::make_unique<AlexNet>());
  harness.set("channels", Sizes{2, 2, 2, 2, 2}).set("hidden", 4);
  harness.push(batch(1, 62));
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].full_message(), HasSubstr("at least 63x63"));
}

TEST(LeNet, HasTheNumbersOfItsLayers) {
  nn::LeNetOptions options;
  options.image_height = 32;
  options.image_width = 32;
  options.dimensions = 10;
  // 6 (75 + 1) + 16 (150 + 1) + 120 (400 + 1) + 84 (120 + 1) + 10 (84 + 1)
  EXPECT_EQ(numbers(*nn::LeNet(options)), 456 + 2416 + 48'120 + 10'164 + 850);
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
  harness.push(batch(1, 64));
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].full_message(), HasSubstr("for images of 100x100 pixels"));
}

}  // namespace
}  // namespace seam::stages
