#include "stages/nn/residual_features.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>
#include <vector>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor.hpp>

#include "tests/stages/nn/network_properties.hpp"
#include "tests/stages/nn/reference.hpp"

namespace seam::nn::residual_features_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

ResidualFeaturesOptions small() {
  ResidualFeaturesOptions options;
  options.stem = {6, 7, 2};
  options.blocks = {8, 12, 16};
  return options;
}

ResidualFeatures made(const ResidualFeaturesOptions& options,
                      torch::ScalarType type = torch::kFloat64) {
  ResidualFeatures features(options, 5);
  features->to(type);
  torch::manual_seed(3);
  const torch::NoGradGuard no_gradient;
  for (const auto& item : features->named_parameters()) {
    if (item.key().find("bn") != std::string::npos) Tensor(item.value()).uniform_(0.5, 1.5);
  }
  return features;
}

/// The forward pass in training, without dropout, as described.
Tensor as_described(const ResidualFeatures& features, Tensor x, double stem_slope, double slope) {
  std::map<std::string, Tensor> at;
  for (const auto& item : features->named_parameters()) at[item.key()] = item.value();
  const auto conv = [&](const Tensor& in, const std::string& name, std::int64_t stride) {
    return test::convolution_by_loops(in, at[name + ".weight"], at[name + ".bias"], stride);
  };
  const auto norm = [&](const Tensor& in, const std::string& name) {
    const Tensor mean = in.mean({0, 2, 3}, true);
    const Tensor variance = (in - mean).square().mean({0, 2, 3}, true);
    return (in - mean) / torch::sqrt(variance + 1e-3) * at[name + ".weight"].view({1, -1, 1, 1}) +
           at[name + ".bias"].view({1, -1, 1, 1});
  };
  const auto leaky = [](const Tensor& in, double below) {
    return torch::where(in > 0, in, below * in);
  };
  x = leaky(norm(conv(x, "stem.c", 2), "stem.bn"), stem_slope);
  for (const std::string block : {"block1", "block2", "block3"}) {
    Tensor main = leaky(norm(conv(x, block + ".conv1", 2), block + ".bn1"), slope);
    main = norm(conv(main, block + ".conv2", 1), block + ".bn2");
    x = leaky(main + norm(conv(x, block + ".shortcut", 2), block + ".shortcut_bn"), slope);
  }
  return x;
}

TEST(ResidualFeatures, ComputeWhatTheirSourcesDescribeForAnySize) {
  const test::Threads one(1);  // many small passes
  struct Case {
    double stem_slope, slope;
    std::int64_t height, width;
  };
  for (const Case& c : {Case{0, 0.3, 16, 16}, Case{0.1, 0.1, 13, 18}, Case{0, 0, 32, 7}}) {
    ResidualFeaturesOptions options = small();
    options.stem_slope = c.stem_slope;
    options.slope = c.slope;
    options.dropout = 0;
    ResidualFeatures features = made(options);
    const Tensor images = torch::rand({3, 3, c.height, c.width}, torch::kFloat64);
    const torch::NoGradGuard no_gradient;
    const Tensor actual = features->forward(images, {});
    EXPECT_TRUE(
        torch::allclose(actual, as_described(features, images, c.stem_slope, c.slope), 1e-9, 1e-10))
        << c.height << "x" << c.width;
    const MapSize size = features->map_size(c.height, c.width);
    EXPECT_EQ(actual.sizes(), (Sizes{3, size.channels, size.height, size.width}));
  }
}

TEST(ResidualFeatures, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  ResidualFeaturesOptions options = small();
  options.stem_slope = 0.1;
  ResidualFeatures features = made(options);
  const Tensor images = torch::rand({2, 3, 18, 16}, torch::kFloat64);
  const Tensor direction = torch::randn({2, 16, 2, 1}, torch::kFloat64);
  test::expect_gradients(
      [&] {
        return (features->forward(images, {1, 2, 3, 4}) * direction).sum();
      },
      features->parameters(), 6, 1e-6, 1e-5);
}

TEST(ResidualFeatures, DropoutIsOfAllButTheLastBlockAndDependsOnTheKeyAlone) {
  ResidualFeatures features = made(small());
  const Tensor images = torch::rand({4, 3, 32, 32}, torch::kFloat64);
  const torch::NoGradGuard no_gradient;
  const auto passed = [&](std::uint64_t epoch) {
    return features->forward(images, {1, 2, epoch, 4});
  };
  EXPECT_TRUE(torch::equal(passed(0), passed(0)));
  EXPECT_FALSE(torch::equal(passed(0), passed(1)));
  // A channel that was dropped would be zero in all of its pixels.
  EXPECT_GT(passed(0).abs().amax({2, 3}).min().item<double>(), 0);
  features->eval();
  EXPECT_TRUE(torch::equal(passed(0), passed(1)));
}

TEST(ResidualFeatures, HaveTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(4);
  test::expect_same_bytes_for_any_threads(
      [] { return made(small(), torch::kFloat32); }, {torch::rand({9, 3, 40, 40})},
      [](ResidualFeatures& net, const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{net->forward(inputs[0], {1, 2, 3, 4})};
      });
}

TEST(ResidualFeatures, FrozenBlocksKeepTheirStatistics) {
  ResidualFeatures features = made(small());
  std::map<std::string, Tensor> before;
  for (const auto& item : features->named_buffers()) before[item.key()] = item.value().clone();
  features->children()[1]->eval();  // block1
  (void)features->forward(torch::rand({2, 3, 16, 16}, torch::kFloat64), {});
  const auto after = features->named_buffers();
  EXPECT_TRUE(torch::equal(after["block1.bn1.running_mean"], before["block1.bn1.running_mean"]));
  EXPECT_FALSE(torch::equal(after["block2.bn1.running_mean"], before["block2.bn1.running_mean"]));
}

TEST(ResidualFeatures, RefuseSizesAndImagesThatDoNotFit) {
  ResidualFeaturesOptions options = small();
  options.blocks = {};
  EXPECT_REFUSED(ResidualFeatures(options, 1), Fault::configuration, "at least one block");
  options.blocks = {8, 0};
  EXPECT_REFUSED(ResidualFeatures(options, 1), Fault::configuration, "all sizes at least 1");
  ResidualFeatures features = made(small());
  EXPECT_REFUSED((void)features->forward(torch::rand({2, 1, 16, 16}, torch::kFloat64), {}),
                 Fault::internal, "not Double [2, 1, 16, 16]");
  EXPECT_REFUSED((void)features->forward(torch::rand({2, 3, 16, 16}), {}), Fault::internal,
                 "not Float [2, 3, 16, 16]");
}

}  // namespace seam::nn::residual_features_test
