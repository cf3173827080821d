#include "stages/capsule/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <seam/error.hpp>

#include "tests/stages/capsule/gradient_check.hpp"

namespace seam::stages {
namespace {

using torch::Tensor;

NetworkOptions tiny() {
  NetworkOptions options;
  options.classes = 5;
  options.width = 8;
  options.primary_channels = 64;
  return options;
}

std::int64_t count(const CapsuleNetwork& network, const std::string& part) {
  std::int64_t sum = 0;
  for (const auto& named : {network.weights(), network.buffers()}) {
    for (const auto& [name, tensor] : named) {
      if (name.rfind(part, 0) == 0) sum += tensor.numel();
    }
  }
  return sum;
}

TEST(CapsuleNetwork, HasThePublishedNumberOfParameters) {
  const CapsuleNetwork network({}, 1);
  EXPECT_EQ(count(network, "conv1"), 9472);
  EXPECT_EQ(count(network, "norm1"), 256);
  EXPECT_EQ(count(network, "conv2"), 401536);
  EXPECT_EQ(count(network, "norm2"), 512);
  EXPECT_EQ(count(network, "conv3"), 401472);
  EXPECT_EQ(count(network, "norm3"), 256);
  EXPECT_EQ(count(network, "conv4"), 1606144);
  EXPECT_EQ(count(network, "routing"), 5888);
  EXPECT_EQ(count(network, ""), 2425536);
}

TEST(CapsuleNetwork, PublishedSizesGive8192CapsulesAnd368Numbers) {
  CapsuleNetwork network({}, 1);
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({1, 3, 256, 256});
  EXPECT_EQ(group_capsules(network.extractor().evaluate(images), 16).sizes(),
            (std::vector<std::int64_t>{1, 8192, 16}));
  const ClassCapsules out = network.evaluate(images);
  EXPECT_EQ(out.capsules.sizes(), (std::vector<std::int64_t>{1, 23, 16}));
  EXPECT_EQ(mask_capsules(out.capsules).sizes(), (std::vector<std::int64_t>{1, 368}));
}

TEST(CapsuleNetwork, ACapsuleIsSixteenConsecutiveChannelsOfAPixel) {
  // 32 capsules a pixel, 3 x 2 pixels; the value says where it stood.
  const Tensor features = torch::arange(512 * 6).view({1, 512, 3, 2});
  const Tensor capsules = group_capsules(features, 16);
  ASSERT_EQ(capsules.sizes(), (std::vector<std::int64_t>{1, 192, 16}));
  for (const auto& [y, x, c, d] :
       {std::tuple{0, 0, 0, 0}, std::tuple{2, 1, 31, 15}, std::tuple{1, 0, 7, 3}}) {
    EXPECT_EQ(capsules[0][(y * 2 + x) * 32 + c][d].item<std::int64_t>(),
              features[0][c * 16 + d][y][x].item<std::int64_t>());
  }
  EXPECT_THROW((void)group_capsules(torch::zeros({1, 30, 2, 2}), 16), Error);
}

TEST(CapsuleNetwork, PresetsSayWhatTheyAreFrom) {
  EXPECT_EQ(sccapsnet_as_released().activation, Activation::relu);
  EXPECT_EQ(sccapsnet_as_released().routing.logits, Logits::replace);
  EXPECT_EQ(sccapsnet_as_published().activation, Activation::leaky_relu);
  EXPECT_DOUBLE_EQ(sccapsnet_as_published().slope, 0.1);
}

TEST(CapsuleNetwork, InitialWeightsDependOnTheSeedAlone) {
  const CapsuleNetwork a({}, 7);
  const CapsuleNetwork b({}, 7);
  const CapsuleNetwork c({}, 8);
  for (std::size_t i = 0; i < a.weights().size(); ++i) {
    EXPECT_TRUE(torch::equal(a.weights()[i].second, b.weights()[i].second));
  }
  EXPECT_FALSE(torch::equal(a.routing_weight(), c.routing_weight()));
  EXPECT_NEAR(a.routing_weight().abs().max().item<double>(), 0.125, 1e-3);
}

TEST(CapsuleNetwork, EvaluationDoesNotDependOnBatchMates) {
  torch::manual_seed(1);
  const CapsuleNetwork network(tiny(), 1);
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({64, 3, 48, 40});
  const ClassCapsules together = network.evaluate(images);
  for (const std::int64_t i : {0, 13, 63}) {
    EXPECT_TRUE(torch::allclose(network.evaluate(images.narrow(0, i, 1)).capsules[0],
                                together.capsules[i], 1e-5, 1e-5));
  }
}

TEST(CapsuleNetwork, TowersHaveTheirOwnBatchStatistics) {
  torch::manual_seed(2);
  const Tensor images = torch::rand({6, 3, 32, 32});
  NetworkOptions options = tiny();
  options.dropout = 0;
  CapsuleNetwork together(options, 3);
  CapsuleNetwork towers(options, 3);
  CapsuleNetwork one(options, 3);
  const ClassCapsules joint = together.train(images, {});
  const ClassCapsules apart = towers.train_towers(images, {0, 1, 0, 1, 0, 1}, {});
  EXPECT_FALSE(torch::allclose(joint.capsules, apart.capsules, 1e-3, 1e-3));
  const ClassCapsules first =
      one.train(images.index_select(0, torch::tensor({0, 2, 4}, torch::kInt64)), {});
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(first.capsules[i], apart.capsules[2 * i])) << i;
    EXPECT_EQ(first.predicted[i].item<std::int64_t>(), apart.predicted[2 * i].item<std::int64_t>());
  }
}

TEST(CapsuleNetwork, ThreadsDoNotChangeAByteOfAStep) {
  torch::manual_seed(3);
  const Tensor images = torch::rand({9, 3, 40, 40});
  const auto with_threads = [&](int threads_count) {
    const testing::Threads threads(threads_count);
    CapsuleNetwork network(tiny(), 3);
    const ClassCapsules out =
        network.train_towers(images, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1, 2, 3, 4});
    out.capsules.pow(3).sum().backward();
    std::vector<Tensor> all{out.capsules, out.lengths};
    for (const auto& [name, weight] : network.weights()) all.push_back(weight.grad());
    for (const auto& [name, buffer] : network.buffers()) all.push_back(buffer);
    return all;
  };
  const std::vector<Tensor> one = with_threads(1);
  const std::vector<Tensor> eight = with_threads(8);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], eight[i])) << i;
}

TEST(CapsuleNetwork, GradientsAreFiniteWhereCapsulesAreZero) {
  CapsuleNetwork network(tiny(), 3);
  network.train(torch::zeros({2, 3, 32, 32}), {}).capsules.sum().backward();
  for (const auto& [name, weight] : network.weights()) {
    EXPECT_TRUE(torch::isfinite(weight.grad()).all().item<bool>()) << name;
  }
}

TEST(Capsules, NormalisedAlongTheAskedAxis) {
  torch::manual_seed(4);
  const Tensor v = torch::randn({2, 5, 16});
  EXPECT_LT((normalise_capsules(v, NormAxis::capsule).norm(2, {2}) - 1).abs().max().item<double>(),
            1e-5);
  EXPECT_LT(
      (normalise_capsules(v, NormAxis::class_capsules).norm(2, {1}) - 1).abs().max().item<double>(),
      1e-5);
}

TEST(Capsules, TheMaskKeepsOneCapsule) {
  torch::manual_seed(5);
  const Tensor capsules = normalise_capsules(torch::randn({3, 4, 2}), NormAxis::capsule);
  const Tensor embedding = mask_capsules(capsules, torch::tensor({2, 0, 3}, torch::kInt64));
  ASSERT_EQ(embedding.sizes(), (std::vector<std::int64_t>{3, 8}));
  EXPECT_TRUE(torch::equal(embedding[0].narrow(0, 4, 2), capsules[0][2]));
  EXPECT_EQ(embedding[0].narrow(0, 0, 4).abs().sum().item<float>(), 0.0F);
  EXPECT_LT((embedding.norm(2, {1}) - 1).abs().max().item<double>(), 1e-6);
  EXPECT_TRUE(torch::equal(mask_capsules(capsules), capsules.flatten(1)));
}

TEST(Capsules, ACategoryBeyondTheClassesIsAnErrorThatSaysSo) {
  try {
    (void)mask_capsules(torch::zeros({1, 4, 2}), torch::tensor({4}, torch::kInt64));
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("category 4 is outside the model's 4 classes"));
  }
}

TEST(CapsuleNetwork, RefusesSizesThatDoNotFit) {
  NetworkOptions options = tiny();
  options.primary_channels = 60;
  EXPECT_THROW(CapsuleNetwork(options, 1), Error);
}

}  // namespace
}  // namespace seam::stages
