#include "stages/nn/capsule_network.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/stages/nn/network_properties.hpp"
#include "tests/stages/nn/routing_reference.hpp"

namespace seam::nn::capsule_network_test {

using torch::Tensor;

NetworkOptions tiny() {
  NetworkOptions options;
  options.classes = 5;
  options.width = 8;
  options.primary_channels = 64;
  return options;
}

/// Parameters and running statistics by name.
std::map<std::string, Tensor> tensors(const CapsuleNetwork& network) {
  std::map<std::string, Tensor> all;
  for (const auto& item : network->named_parameters()) all.emplace(item.key(), item.value());
  for (const auto& item : network->named_buffers()) {
    if (item.value().is_floating_point()) all.emplace(item.key(), item.value());
  }
  return all;
}

std::int64_t count(const CapsuleNetwork& network, const std::string& part) {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : tensors(network)) {
    if (name.starts_with(part)) sum += tensor.numel();
  }
  return sum;
}

TEST(CapsuleNetwork, WithResidualBlocksItHasThePublishedNumberOfParametersLayerByLayer) {
  const std::vector<std::pair<std::string, std::int64_t>> published{{"f.stem.c.", 9472},
                                                                    {"f.stem.bn.", 256},
                                                                    {"f.block1.conv1.", 73856},
                                                                    {"f.block1.bn1.", 512},
                                                                    {"f.block1.conv2.", 147584},
                                                                    {"f.block1.bn2.", 512},
                                                                    {"f.block1.shortcut.", 8320},
                                                                    {"f.block1.shortcut_bn.", 512},
                                                                    {"f.block2.conv1.", 295168},
                                                                    {"f.block2.bn1.", 1024},
                                                                    {"f.block2.conv2.", 590080},
                                                                    {"f.block2.bn2.", 1024},
                                                                    {"f.block2.shortcut.", 33024},
                                                                    {"f.block2.shortcut_bn.", 1024},
                                                                    {"f.block3.conv1.", 1180160},
                                                                    {"f.block3.bn1.", 2048},
                                                                    {"f.block3.conv2.", 2359808},
                                                                    {"f.block3.bn2.", 2048},
                                                                    {"f.block3.shortcut.", 131584},
                                                                    {"f.block3.shortcut_bn.", 2048},
                                                                    {"w", 5888},
                                                                    {"", 4845952}};
  for (const NetworkOptions& options : {rccapsnet_as_published(), rccapsnet_as_released()}) {
    const CapsuleNetwork network(options, 1);
    for (const auto& [part, numbers] : published) EXPECT_EQ(count(network, part), numbers) << part;
    std::int64_t trained = 0;
    for (const Tensor& parameter : network->parameters()) trained += parameter.numel();
    EXPECT_EQ(4845952 - trained, 5504);
    const MapSize map = network->extractor->map_size(256, 256);
    EXPECT_EQ(map.channels / 16 * map.height * map.width, 8192);
  }
}

NetworkOptions tiny_residual() {
  NetworkOptions options = rccapsnet_as_published(tiny());
  options.width = 4;
  return options;
}

TEST(CapsuleNetwork, WithResidualBlocksPrimaryCapsulesAreMostlyPositive) {
  torch::manual_seed(12);
  CapsuleNetwork network(tiny_residual(), 3);
  const Tensor map = network->extractor->forward(torch::rand({4, 3, 32, 32}), {});
  EXPECT_LT(map.min().item<double>(), 0);
  EXPECT_LT(-map.min().item<double>(), 0.2 * map.max().item<double>());
}

TEST(CapsuleNetwork, WithWeightsOfTheirOwnImagesAreOfOneSize) {
  NetworkOptions options = tiny();
  options.weights = CapsuleWeights::own;
  options.images = {32, 48};
  CapsuleNetwork network(options, 3);
  EXPECT_EQ(network->routing_weight.sizes(), (std::vector<std::int64_t>{24, 16, 80}));
  network->eval();
  EXPECT_EQ(network->forward(torch::rand({2, 3, 32, 48})).capsules.size(1), 5);
  EXPECT_REFUSED((void)network->forward(torch::rand({2, 3, 32, 32})), Fault::data,
                 "images of 32x32 give 16 primary capsules, but the network has weights for the 24 "
                 "of images of 48x32 (width x height)");
}

TEST(CapsuleNetwork, ACapsuleIsSixteenConsecutiveChannelsOfAPixel) {
  // 32 capsules per pixel, 3 x 2 pixels; the value encodes its position.
  const Tensor features = torch::arange(512 * 6).view({1, 512, 3, 2});
  const Tensor capsules = group_capsules(features, 16);
  ASSERT_EQ(capsules.sizes(), (std::vector<std::int64_t>{1, 192, 16}));
  for (const auto& [y, x, c, d] :
       {std::tuple{0, 0, 0, 0}, std::tuple{2, 1, 31, 15}, std::tuple{1, 0, 7, 3}}) {
    EXPECT_EQ(capsules[0][(y * 2 + x) * 32 + c][d].item<std::int64_t>(),
              features[0][c * 16 + d][y][x].item<std::int64_t>());
  }
  EXPECT_REFUSED((void)group_capsules(torch::zeros({1, 30, 2, 2}), 16), Fault::internal,
                 "features [1, 30, 2, 2] cannot be grouped into capsules of 16");
}

TEST(CapsuleNetwork, HasThePublishedShapesWithEitherPreset) {
  using Shape = std::vector<std::int64_t>;
  const std::map<std::string, Shape> published{{"f.0.c.weight", {64, 3, 7, 7}},
                                               {"f.0.c.bias", {64}},
                                               {"f.0.bn.weight", {64}},
                                               {"f.0.bn.bias", {64}},
                                               {"f.0.bn.running_mean", {64}},
                                               {"f.0.bn.running_var", {64}},
                                               {"f.1.c.weight", {128, 64, 7, 7}},
                                               {"f.1.c.bias", {128}},
                                               {"f.1.bn.weight", {128}},
                                               {"f.1.bn.bias", {128}},
                                               {"f.1.bn.running_mean", {128}},
                                               {"f.1.bn.running_var", {128}},
                                               {"f.2.c.weight", {64, 128, 7, 7}},
                                               {"f.2.c.bias", {64}},
                                               {"f.2.bn.weight", {64}},
                                               {"f.2.bn.bias", {64}},
                                               {"f.2.bn.running_mean", {64}},
                                               {"f.2.bn.running_var", {64}},
                                               {"f.3.c.weight", {512, 64, 7, 7}},
                                               {"f.3.c.bias", {512}},
                                               {"w", {16, 368}}};
  for (const NetworkOptions& options : {sccapsnet_as_published(), sccapsnet_as_released()}) {
    const CapsuleNetwork network(options, 1);
    std::map<std::string, Shape> shapes;
    for (const auto& [name, tensor] : tensors(network)) shapes[name] = tensor.sizes().vec();
    EXPECT_EQ(shapes, published);
    EXPECT_EQ(count(network, ""), 2425536);
    const MapSize map = network->extractor->map_size(256, 256);
    EXPECT_EQ(map.channels / 16 * map.height * map.width, 8192);
  }
}

/// SCCapsNet's evaluation as described in its sources, step by step in plain operations: four 7x7
/// convolutions of stride 2 with a padding, for even sizes, of 2 before and 3 after, batch
/// normalisation with Keras' epsilon, predictions of every single capsule, 3 iterations.
Tensor as_described(const CapsuleNetwork& network, Tensor x, double slope, bool accumulate) {
  std::map<std::string, Tensor> at = tensors(network);
  for (const std::string layer : {"0", "1", "2", "3"}) {
    x = torch::conv2d(torch::constant_pad_nd(x, {2, 3, 2, 3}), at["f." + layer + ".c.weight"],
                      at["f." + layer + ".c.bias"], 2);
    if (layer == "3") break;
    const auto channels = [&](const std::string& name) {
      return at["f." + layer + ".bn." + name].view({1, -1, 1, 1});
    };
    x = (x - channels("running_mean")) / torch::sqrt(channels("running_var") + 1e-3) *
            channels("weight") +
        channels("bias");
    x = torch::where(x > 0, x, slope * x);
  }
  const Tensor u = squash_reference(x.permute({0, 2, 3, 1}).reshape({x.size(0), -1, 16}));
  RoutingOptions routing;
  if (accumulate) routing.logits = Logits::accumulate;
  const Tensor v = test::route_by_predictions(u, at["w"], 5, routing);
  return v / torch::sqrt((v * v).sum(2, true));
}

TEST(CapsuleNetwork, PresetsComputeWhatTheirSourcesDescribe) {
  torch::manual_seed(6);
  const NetworkOptions sizes = tiny();
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({2, 3, 64, 32}, torch::kFloat64);
  const auto made = [&](const NetworkOptions& options) {
    CapsuleNetwork network(options, 4);
    network->to(torch::kFloat64);
    network->eval();
    torch::manual_seed(7);
    for (auto& [name, tensor] : tensors(network)) {
      if (name.find(".bn.") != std::string::npos) Tensor(tensor).uniform_(0.5, 1.5);
      if (name == "w") Tensor(tensor).mul_(20);  // so that the logits matter
    }
    return network;
  };
  CapsuleNetwork published = made(sccapsnet_as_published(sizes));
  CapsuleNetwork released = made(sccapsnet_as_released(sizes));
  const Tensor of_thesis = as_described(published, images, 0.1, true);
  const Tensor of_code = as_described(released, images, 0, false);
  EXPECT_FALSE(torch::allclose(of_thesis, of_code, 1e-3, 1e-3));
  EXPECT_TRUE(torch::allclose(published->forward(images).capsules, of_thesis, 1e-8, 1e-9));
  EXPECT_TRUE(torch::allclose(released->forward(images).capsules, of_code, 1e-8, 1e-9));
}

TEST(CapsuleNetwork, InitialWeightsDependOnTheSeedAlone) {
  const CapsuleNetwork a(NetworkOptions{}, 7);
  const CapsuleNetwork b(NetworkOptions{}, 7);
  const CapsuleNetwork c(NetworkOptions{}, 8);
  for (const auto& [name, tensor] : tensors(a)) {
    EXPECT_TRUE(torch::equal(tensor, tensors(b)[name])) << name;
  }
  EXPECT_FALSE(torch::equal(a->routing_weight, c->routing_weight));
  EXPECT_NEAR(a->routing_weight.abs().max().item<double>(), 0.125, 1e-3);
}

TEST(CapsuleNetwork, TowersHaveTheirOwnBatchStatistics) {
  torch::manual_seed(2);
  const Tensor images = torch::rand({6, 3, 32, 32});
  NetworkOptions options = tiny();
  options.dropout = 0;
  CapsuleNetwork together(options, 3);
  CapsuleNetwork towers(options, 3);
  CapsuleNetwork one(options, 3);
  const ClassCapsules joint = together->forward(images, {});
  const ClassCapsules apart = towers->forward_towers(images, {0, 1, 0, 1, 0, 1}, {});
  EXPECT_FALSE(torch::allclose(joint.capsules, apart.capsules, 1e-3, 1e-3));
  const ClassCapsules first =
      one->forward(images.index_select(0, torch::tensor({0, 2, 4}, torch::kInt64)), {});
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(first.capsules[i], apart.capsules[2 * i])) << i;
    EXPECT_EQ(first.predicted[i].item<std::int64_t>(), apart.predicted[2 * i].item<std::int64_t>());
  }
}

TEST(CapsuleNetwork, ThreadsDoNotChangeAByteOfAStep) {
  torch::manual_seed(3);
  test::expect_same_bytes_for_any_threads(
      [] { return CapsuleNetwork(tiny(), 3); },
      {torch::rand({9, 3, 128, 128})},  // capsules for many tasks
      [](CapsuleNetwork& network, const std::vector<Tensor>& images) {
        const ClassCapsules out =
            network->forward_towers(images[0], {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1, 2, 3, 4});
        return std::vector<Tensor>{out.capsules, out.lengths};
      });
}

TEST(Capsules, LengthsHaveAGradient) {
  torch::manual_seed(8);
  const std::vector<Tensor> v{torch::randn({2, 3, 4}, torch::kFloat64).requires_grad_(true)};
  test::expect_gradients([&] { return (capsule_lengths(v[0]) - 0.9).square().sum(); }, v);
  Tensor zero = torch::zeros({1, 2, 3}).requires_grad_(true);
  capsule_lengths(zero).sum().backward();
  EXPECT_EQ(zero.grad().abs().sum().item<float>(), 0.0F);
  EXPECT_TRUE(torch::isnan(capsule_lengths(torch::full({1, 1, 2}, NAN))).all().item<bool>());
}

TEST(Capsules, NormalisedAlongTheAskedAxis) {
  torch::manual_seed(4);
  const Tensor v = torch::randn({2, 5, 16});
  EXPECT_LT((normalise_capsules(v, NormAxis::capsule).norm(2, {2}) - 1).abs().max().item<double>(),
            1e-5);
  EXPECT_LT(
      (normalise_capsules(v, NormAxis::class_capsules).norm(2, {1}) - 1).abs().max().item<double>(),
      1e-5);
  const Tensor whole = normalise_capsules(v, NormAxis::vector).flatten(1);
  EXPECT_TRUE(torch::allclose(whole, v.flatten(1) / v.flatten(1).norm(2, 1, true), 1e-5, 1e-6));
  EXPECT_TRUE(torch::equal(normalise_capsules(v, NormAxis::none), v));
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
  EXPECT_REFUSED((void)mask_capsules(torch::zeros({1, 4, 2}), torch::tensor({4}, torch::kInt64)),
                 Fault::data, "category 4 is outside the model's 4 classes");
}

TEST(CapsuleNetwork, UnderAutocastItIsCloseToFloatAndItsCapsulesAreFloat) {
  torch::manual_seed(11);
  for (const NetworkOptions& options : {tiny(), tiny_residual()}) {
    CapsuleNetwork network(options, 3);
    const Tensor images = torch::rand({4, 3, 64, 64});
    test::expect_close_under_autocast(*network, [&] {
      return network->forward(images, {1, 2, 3, 4}).capsules;
    });
  }
}

TEST(CapsuleNetwork, RefusesSizesThatDoNotFit) {
  NetworkOptions options = tiny();
  options.primary_channels = 60;
  EXPECT_REFUSED(CapsuleNetwork(options, 1), Fault::configuration,
                 "primary_channels (60) must be a multiple of capsule_size");
}

}  // namespace seam::nn::capsule_network_test
