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

#include "tests/stages/nn/gradient_check.hpp"

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

TEST(CapsuleNetwork, HasThePublishedNumberOfParameters) {
  const CapsuleNetwork network(NetworkOptions{}, 1);
  EXPECT_EQ(count(network, "f.0.c."), 9472);
  EXPECT_EQ(count(network, "f.0.bn."), 256);
  EXPECT_EQ(count(network, "f.1.c."), 401536);
  EXPECT_EQ(count(network, "f.1.bn."), 512);
  EXPECT_EQ(count(network, "f.2.c."), 401472);
  EXPECT_EQ(count(network, "f.2.bn."), 256);
  EXPECT_EQ(count(network, "f.3.c."), 1606144);
  EXPECT_EQ(count(network, "w"), 5888);
  EXPECT_EQ(count(network, ""), 2425536);
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

TEST(CapsuleNetwork, GradientsOfTheWholeNetworkAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(13);
  NetworkOptions options = tiny_residual();
  options.primary_channels = 16;
  options.capsule_size = 8;
  CapsuleNetwork network(options, 3);
  network->to(torch::kFloat64);
  const Tensor images = torch::rand({3, 3, 16, 16}, torch::kFloat64);
  const Tensor direction = torch::randn({3, 5, 16}, torch::kFloat64);
  test::expect_gradients(
      [&] {
        const ClassCapsules out = network->forward(images, {1, 2, 3, 4});
        return (out.capsules * direction).sum() + out.lengths.sum();
      },
      network->parameters(), 4, 1e-6, 1e-5);
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

TEST(CapsuleNetwork, OneConvolutionIsTheFirstCapsuleNetwork) {
  NetworkOptions options;
  options.features = FeatureKind::one_convolution;
  options.width = 256;
  options.primary_channels = 256;
  options.capsule_size = 8;
  options.classes = 10;
  options.weights = CapsuleWeights::own;
  options.images = {28, 28};
  const CapsuleNetwork network(options, 1);
  EXPECT_EQ(network->routing_weight.sizes(), (std::vector<std::int64_t>{1152, 8, 160}));
  EXPECT_EQ(count(network, "f.0.c."), 62464);
  EXPECT_EQ(count(network, "f.1.c."), 5308672);
  EXPECT_EQ(count(network, ""), 62464 + 5308672 + 1474560);
}

TEST(CapsuleNetwork, PublishedSizesGive8192CapsulesAnd368Numbers) {
  CapsuleNetwork network(NetworkOptions{}, 1);
  network->eval();
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({1, 3, 256, 256});
  EXPECT_EQ(group_capsules(network->extractor->forward(images), 16).sizes(),
            (std::vector<std::int64_t>{1, 8192, 16}));
  const ClassCapsules out = network->forward(images);
  EXPECT_EQ(out.capsules.sizes(), (std::vector<std::int64_t>{1, 23, 16}));
  EXPECT_EQ(mask_capsules(out.capsules).sizes(), (std::vector<std::int64_t>{1, 368}));
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
  }
}

Tensor squash_as_described(const Tensor& s) {
  const Tensor square = (s * s).sum(-1, true);
  return square / (1 + square) * s / torch::sqrt(square + 1e-7);
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
  const std::int64_t batch = x.size(0);
  const Tensor u = squash_as_described(x.permute({0, 2, 3, 1}).reshape({batch, -1, 16}));
  const Tensor predictions = torch::matmul(u, at["w"]).view({batch, u.size(1), -1, 16});
  Tensor logits = torch::zeros({batch, u.size(1), predictions.size(2)}, torch::kFloat64);
  Tensor v;
  for (int iteration = 0; iteration < 3; ++iteration) {
    const Tensor coupling = torch::softmax(logits, 2).unsqueeze(-1);
    v = squash_as_described((coupling * predictions).sum(1));
    const Tensor agreement = (predictions * v.unsqueeze(1)).sum(-1);
    logits = accumulate ? logits + agreement : agreement;
  }
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
  const Tensor images = torch::rand({9, 3, 128, 128});  // capsules for many tasks
  const auto with_threads = [&](int threads_count) {
    const test::Threads threads(threads_count);
    CapsuleNetwork network(tiny(), 3);
    const ClassCapsules out =
        network->forward_towers(images, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1, 2, 3, 4});
    out.capsules.pow(3).sum().backward();
    std::vector<Tensor> all{out.capsules, out.lengths};
    for (const Tensor& weight : network->parameters()) all.push_back(weight.grad());
    for (const Tensor& buffer : network->buffers()) all.push_back(buffer);
    return all;
  };
  const std::vector<Tensor> one = with_threads(1);
  const std::vector<Tensor> eight = with_threads(8);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], eight[i])) << i;
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

TEST(CapsuleNetwork, ALossOnLengthsReachesTheFirstConvolution) {
  torch::manual_seed(9);
  CapsuleNetwork network(tiny(), 3);
  network->forward(torch::rand({4, 3, 32, 32}), {}).lengths.sum().backward();
  EXPECT_GT(network->named_parameters()["f.0.c.weight"].grad().abs().sum().item<float>(), 0.0F);
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
}

TEST(Capsules, AreLeftAsTheyAreWhereAsked) {
  const Tensor v = torch::randn({2, 5, 16});
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
  CapsuleNetwork network(tiny(), 3);
  const Tensor images = torch::rand({4, 3, 64, 64});
  const auto passed = [&](Precision precision) {
    const Autocast autocast(torch::kCPU, precision);
    return network->forward(images, {1, 2, 3, 4}).capsules;
  };
  const Tensor expected = passed(Precision::float32).detach();
  const Tensor actual = passed(Precision::bfloat16);
  EXPECT_EQ(actual.scalar_type(), torch::kFloat32);
  EXPECT_LT((actual.detach() - expected).norm().item<double>(),
            0.05 * expected.norm().item<double>());
  actual.sum().backward();
  for (const auto& item : network->named_parameters()) {
    EXPECT_TRUE(torch::isfinite(item.value().grad()).all().item<bool>()) << item.key();
  }
}

TEST(CapsuleNetwork, RefusesSizesThatDoNotFit) {
  NetworkOptions options = tiny();
  options.primary_channels = 60;
  EXPECT_REFUSED(CapsuleNetwork(options, 1), Fault::configuration,
                 "primary_channels (60) must be a multiple of capsule_size");
}

}  // namespace seam::nn::capsule_network_test
