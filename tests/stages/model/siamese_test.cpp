#include "stages/model/siamese.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>
#include <vector>

#include "tests/stages/nn/network_properties.hpp"
#include "tests/stages/nn/routing_reference.hpp"

namespace seam::nn::siamese_test {

using torch::Tensor;

using Numbers = std::map<std::string, std::int64_t>;

Numbers numbers_of(const torch::nn::Module& module) {
  Numbers numbers;
  for (const auto& item : module.named_parameters()) {
    numbers[item.key().substr(0, item.key().rfind('.'))] += item.value().numel();
  }
  return numbers;
}

TEST(SiameseCapsules, HaveThePublishedNumbersLayerByLayer) {
  SiameseCapsulesOptions options;
  options.capsules = siamese_capsules();
  options.capsules.images = {100, 100};
  options.dropout = ConcreteDropoutOptions{};
  SiameseCapsules grey(options, 1);
  EXPECT_EQ(numbers_of(*grey), (Numbers{{"capsules.f.0.c", 20'992},
                                        {"capsules.f.1.c", 5'308'672},
                                        {"capsules", 11'796'480},
                                        {"dense", 6'420},
                                        {"dropout", 20}}));
  const MapSize map = grey->network->extractor->map_size(100, 100);
  EXPECT_EQ(map.height, 12);
  EXPECT_EQ(map.width, 12);
  options.capsules.channels = 3;
  // Only the first convolution differs, so only that is built.
  const auto colour = image_features(options.capsules, 1);
  EXPECT_EQ(numbers_of(*colour)["0.c"], 62'464);
}

SiameseCapsulesOptions small() {
  SiameseCapsulesOptions options;
  options.capsules = siamese_capsules();
  options.capsules.width = 3;
  options.capsules.primary_channels = 8;
  options.capsules.capsule_size = 4;
  options.capsules.classes = 5;
  options.capsules.class_capsule_size = 3;
  options.capsules.images = {25, 22};
  options.capsules.convolutions = {5, 3, 2};
  options.capsules.first_stride = 2;
  options.dimensions = 6;
  options.dropout = ConcreteDropoutOptions{};
  return options;
}

/// Primary capsules, routing and the dense layer written out.
TEST(SiameseCapsules, ComputeWhatTheyAreDescribedAs) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradient;
  SiameseCapsulesOptions options = small();
  SiameseCapsules net(options, 3);
  net->to(torch::kFloat64);
  net->eval();
  auto at = net->named_parameters();
  const Tensor grey = torch::rand({4, 1, 25, 22}, torch::kFloat64);
  Tensor x =
      torch::relu(torch::conv2d(grey, at["capsules.f.0.c.weight"], at["capsules.f.0.c.bias"], 2));
  x = torch::conv2d(x, at["capsules.f.1.c.weight"], at["capsules.f.1.c.bias"], 2);
  x = squash_reference(x.permute({0, 2, 3, 1}).reshape({4, -1, 4}));  // always squashed
  const RoutingOptions routing{
      .iterations = 4, .logits = Logits::accumulate, .squash = SquashForm::tanh};
  const Tensor v = test::route_by_predictions(x, at["capsules.w"], 5, routing);
  const Tensor dense = torch::linear(v.flatten(1), at["dense.weight"], at["dense.bias"]);
  const SiameseResult result = net->forward(grey.expand({4, 3, 25, 22}), {});
  EXPECT_TRUE(torch::allclose(result.capsules, v, 1e-9, 1e-10));
  EXPECT_TRUE(torch::allclose(result.embedding, dense / dense.norm(2, {1}, true), 1e-9, 1e-10));
}

TEST(SiameseCapsules, GradientsReachEveryWeightAndAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(2);
  SiameseCapsules net(small(), 3);
  net->to(torch::kFloat64);
  const Tensor images = torch::rand({3, 3, 25, 22}, torch::kFloat64);
  const Tensor direction = torch::randn({3, 6}, torch::kFloat64);
  test::expect_gradients(
      [&] {
        return (net->forward(images, {1, 2, 3, 4}).embedding * direction).sum() +
               net->dropout->regulariser(net->dense->weight, 0.1);
      },
      net->parameters(), 6, 1e-6, 2e-5);
}

TEST(SiameseCapsules, ThreadsDoNotChangeAByte) {
  torch::manual_seed(4);
  test::expect_same_bytes_for_any_threads(
      [] { return SiameseCapsules(small(), 3); }, {torch::rand({13, 3, 25, 22})},
      [](SiameseCapsules& net, const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{net->forward(inputs[0], {1, 2, 3, 4}).embedding};
      });
}

}  // namespace seam::nn::siamese_test
