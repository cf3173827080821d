#include "stages/model/siamese.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>
#include <vector>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn::siamese_test {

using torch::Tensor;

std::map<std::string, std::int64_t> numbers_of(const torch::nn::Module& module) {
  std::map<std::string, std::int64_t> numbers;
  for (const auto& item : module.named_parameters()) {
    const std::string layer = item.key().substr(0, item.key().rfind('.'));
    numbers[layer] += item.value().numel();
  }
  return numbers;
}

using Numbers = std::map<std::string, std::int64_t>;

TEST(SiameseCapsules, HaveThePublishedNumbersLayerByLayer) {
  SiameseCapsulesOptions options;
  options.capsules = siamese_capsules();
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

NetworkOptions small_capsules() {
  NetworkOptions options = siamese_capsules();
  options.width = 3;
  options.primary_channels = 8;
  options.capsule_size = 4;
  options.classes = 5;
  options.class_capsule_size = 3;
  options.images = {25, 22};
  options.convolutions = {5, 3, 2};
  options.first_stride = 2;
  return options;
}

SiameseCapsulesOptions small() {
  SiameseCapsulesOptions options;
  options.capsules = small_capsules();
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
  const Tensor predicted =
      torch::einsum("bnd,ndk->bnk", {x, at["capsules.w"]}).view({4, x.size(1), 5, 3});
  Tensor logits = torch::zeros({4, x.size(1), 5}, torch::kFloat64);
  Tensor v;
  for (int t = 0; t < 4; ++t) {
    v = torch::tanh((torch::softmax(logits, 2).unsqueeze(-1) * predicted).sum(1));
    logits = logits + (predicted * v.unsqueeze(1)).sum(-1);
  }
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
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    torch::manual_seed(4);
    SiameseCapsules net(small(), 3);
    net->forward(torch::rand({13, 3, 25, 22}), {1, 2, 3, 4}).embedding.sum().backward();
    std::vector<Tensor> gradients;
    for (const Tensor& parameter : net->parameters()) gradients.push_back(parameter.grad());
    return gradients;
  };
  const std::vector<Tensor> one = with_threads(1);
  const std::vector<Tensor> four = with_threads(4);
  for (std::size_t at = 0; at < one.size(); ++at) {
    ASSERT_EQ(one[at].defined(), four[at].defined());
    if (!one[at].defined()) continue;
    EXPECT_TRUE(torch::equal(one[at], four[at])) << at;
  }
}

}  // namespace seam::nn::siamese_test
