/// model.se_resnet50; python_weights_test.py compares it with timm's.
#include "stages/model/se_resnet50.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stages/model/base/residual.hpp"
#include "tests/stages/model/network_testing.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::se_resnet50_test {

using Sizes = std::vector<std::int64_t>;
using Trial = test::With<SeResnet50>;
using Weights = std::map<std::string, Tensor>;

const auto conformance = seam::testing::conformance<SeResnet50>({
    .parameters = {{"blocks", Sizes{1, 1}},
                   {"width", std::int64_t{8}},
                   {"dimensions", std::int64_t{10}},
                   {"classes", std::int64_t{3}}},
    .packets = test::batches_of(32, 48),
    .refused = {{{"blocks", Sizes{1, 1, 1, 1, 1, 1, 1, 1, 1}}},
                {{"embedding", false}},
                {{"normalise_map", true}}},
});

const auto map_conformance = seam::testing::conformance<SeResnet50>({
    .name = "map",
    .parameters = {{"blocks", Sizes{1, 1}},
                   {"width", std::int64_t{8}},
                   {"last_stride", std::int64_t{1}},
                   {"embedding", false},
                   {"feature_map", true},
                   {"normalise_map", true}},
    .packets = test::batches_of(32, 48),
});

// timm's count of legacy_seresnet50, with its classifier of 1,000 classes.
TEST(SeResnet50, HasTheNumbersOfThePublishedNetwork) {
  Trial trial;
  trial.set("classes", 1000).open();
  const Weights weights = trial.weights_by_name();
  std::int64_t sum = 0;
  for (const auto& [name, weight] : weights) sum += weight.numel();
  EXPECT_EQ(sum, 28088024);
  EXPECT_EQ(weights.at("layer1.0.se_module.fc1.weight").sizes(), (Sizes{16, 256, 1, 1}));
  EXPECT_EQ(weights.at("layer4.2.se_module.fc2.bias").sizes(), (Sizes{2048}));
  EXPECT_EQ(weights.at("layer0.conv1.weight").sizes(), (Sizes{64, 3, 7, 7}));
  EXPECT_EQ(weights.at("last_linear.weight").sizes(), (Sizes{1000, 2048}));
}

/// A block as described in Hu's files for Caffe, on weights by name; batch normalisation in
/// evaluation divides by sqrt(1 + 1e-5).
Tensor block(const Tensor& x, const Weights& weights, const std::string& name,
             std::int64_t stride) {
  const auto normalised = [&](const Tensor& y, const std::string& bn) {
    return y / std::sqrt(1 + 1e-5) * weights.at(name + bn + ".weight").view({1, -1, 1, 1}) +
           weights.at(name + bn + ".bias").view({1, -1, 1, 1});
  };
  const auto convolved = [&](const Tensor& y, const std::string& part, std::int64_t by,
                             std::int64_t padding) {
    return torch::conv2d(y, weights.at(name + part + ".weight"), {}, by, padding);
  };
  const auto dense = [&](const Tensor& y, const std::string& part) {
    const Tensor& matrix = weights.at(name + "se_module." + part + ".weight");
    return y.matmul(matrix.flatten(1).t()) + weights.at(name + "se_module." + part + ".bias");
  };
  Tensor y = normalised(convolved(x, "conv1", stride, 0), "bn1").relu();
  y = normalised(convolved(y, "conv2", 1, 1), "bn2").relu();
  y = normalised(convolved(y, "conv3", 1, 0), "bn3");
  const Tensor gate = dense(dense(y.mean({2, 3}), "fc1").relu(), "fc2").sigmoid();
  const Tensor shortcut = normalised(convolved(x, "downsample.0", stride, 0), "downsample.1");
  return (y * gate.view({y.size(0), -1, 1, 1}) + shortcut).relu();
}

TEST(SeResnet50, IsTheNetworkOfItsDescription) {
  for (const std::int64_t last_stride : {1, 2}) {
    Trial trial;
    trial.seed(5).set("blocks", Value{Sizes{1, 1, 1}}).set("width", 8).set("feature_map", true);
    trial.set("last_stride", last_stride).push(test::images_of(2, 44, 37));
    ASSERT_THAT(trial.errors(), IsEmpty());
    const Weights weights = trial.weights_by_name();
    Tensor map = torch::conv2d(test::images_of(2, 44, 37)[field::images],
                               weights.at("layer0.conv1.weight"), {}, 2, 3);
    map = (map / std::sqrt(1 + 1e-5)).relu();  // [22,19]
    // Windows begin at every second pixel, and the last one of 22 ends one pixel beyond the map.
    map = torch::max_pool2d(torch::constant_pad_nd(map, {0, 0, 0, 1}), 3, 2);
    EXPECT_EQ(map.sizes(), (Sizes{2, 8, 11, 9}));
    map = block(map, weights, "layer1.0.", 1);
    map = block(map, weights, "layer2.0.", 2);
    map = block(map, weights, "layer3.0.", last_stride);
    const Packet& out = trial.outputs().at(0);
    EXPECT_TRUE(torch::allclose(out[field::feature_map], map, 1e-4, 1e-5));
    const Tensor pooled = map.mean({2, 3});
    EXPECT_TRUE(
        torch::allclose(out[field::embedding], pooled / pooled.norm(2, 1, true), 1e-4, 1e-5));
  }
}

// 284x423 is the size of the images of Durmuş, Güdükbay and Ulusoy, 2023.
TEST(SeResnet50, HalvesAsPoolingWithoutPaddingDoes) {
  const auto map_of = [](std::int64_t height, std::int64_t width) {
    Trial trial;
    trial.set("blocks", Value{Sizes{1, 1, 1, 1}}).set("width", 4).set("last_stride", 1);
    trial.set("embedding", false).set("feature_map", true).push(test::images_of(1, height, width));
    EXPECT_THAT(trial.errors(), IsEmpty());
    return trial.outputs().at(0)[field::feature_map].sizes().vec();
  };
  EXPECT_EQ(map_of(284, 423), (Sizes{1, 128, 18, 27}));
  EXPECT_EQ(map_of(224, 224), (Sizes{1, 128, 14, 14}));
  EXPECT_EQ(map_of(3, 3), (Sizes{1, 128, 1, 1}));
}

TEST(SeResnet50, NormalisesTheMapThatItGives) {
  const auto output = [](bool normalise) {
    Trial trial;
    trial.seed(2).training(true).set("blocks", Value{Sizes{1, 1}}).set("width", 8);
    trial.set("feature_map", true).set("normalise_map", normalise);
    trial.push(test::images_of(4, 64, 64));
    EXPECT_THAT(trial.errors(), IsEmpty());
    const Packet& out = trial.outputs().at(0);
    return std::pair(out[field::feature_map].detach(), out[field::embedding].detach());
  };
  const auto [plain, embedding] = output(false);
  const auto [normalised, same] = output(true);
  const Tensor mean = plain.mean({0, 2, 3}, true);
  const Tensor deviation = (plain.var({0, 2, 3}, false, true) + 1e-5).sqrt();
  EXPECT_TRUE(torch::allclose(normalised, (plain - mean) / deviation, 1e-3, 1e-3));
  EXPECT_TRUE(torch::equal(embedding, same)) << "the pooled map must not be normalised";
}

TEST(SqueezeExcitation, HasTheSameBytesForAnyNumberOfThreads) {
  test::expect_same_bytes_for_any_threads(
      [] { return nn::SqueezeExcitation(1040, nn::ResidualStyle::caffe); },
      {torch::randn({64, 1040, 2, 3}).requires_grad_()},
      [](nn::SqueezeExcitation& net, const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{net->forward(inputs[0])};
      });
}

}  // namespace seam::stages::se_resnet50_test
