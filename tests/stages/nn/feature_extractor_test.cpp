#include "stages/nn/feature_extractor.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/refusal_testing.hpp>
#include <seam/tensor.hpp>

#include <string>
#include <vector>

#include "stages/nn/kernels/convolution.hpp"
#include "tests/stages/nn/network_properties.hpp"
#include "tests/stages/nn/reference.hpp"

namespace seam::nn::feature_extractor_test {

using torch::Tensor;
using Sizes = std::vector<std::int64_t>;

FeatureExtractorOptions small() {
  FeatureExtractorOptions options;
  options.layers = {{16}, {40}, {24}, {48}};
  options.slope = 0.1;
  return options;
}

FeatureExtractor made(const FeatureExtractorOptions& options, std::uint64_t seed,
                      torch::ScalarType type = torch::kFloat32) {
  FeatureExtractor extractor(options, seed);
  extractor->to(type);
  return extractor;
}

TEST(FeatureExtractor, ConvolutionIsItsDefinitionForAnySize) {
  torch::manual_seed(1);
  struct Case {
    std::int64_t height, width, channels, kernel, stride;
  };
  for (const Case& c :
       {Case{8, 8, 3, 7, 2}, Case{9, 12, 3, 7, 2}, Case{7, 5, 16, 7, 2}, Case{6, 6, 3, 3, 2},
        Case{5, 7, 2, 1, 2}, Case{4, 9, 3, 3, 1}, Case{1, 1, 3, 7, 2}, Case{10, 7, 3, 3, 3}}) {
    FeatureExtractorOptions options;
    options.in_channels = c.channels;
    options.layers = {{5, c.kernel, c.stride}};
    FeatureExtractor extractor = made(options, 1, torch::kFloat64);
    extractor->eval();
    const torch::NoGradGuard no_gradient;
    const std::vector<Tensor> weights = extractor->parameters();
    Tensor(weights[1]).uniform_(-1, 1);
    const Tensor images = torch::randn({1, c.channels, c.height, c.width}, torch::kFloat64);
    const Tensor expected = test::convolution_by_loops(images, weights[0], weights[1], c.stride);
    for (const Tensor& actual :
         {extractor->forward(images), extractor->forward_plain(images, {})}) {
      ASSERT_EQ(actual.sizes(), expected.sizes());
      EXPECT_TRUE(torch::allclose(actual, expected, 1e-10, 1e-10))
          << c.height << "x" << c.width << " kernel " << c.kernel << " stride " << c.stride;
    }
  }
}

TEST(FeatureExtractor, SamePaddingPutsTheOddZeroAfter) {
  EXPECT_EQ(kernels::same_padding_before(256, 7, 2), 2);
  EXPECT_EQ(kernels::same_padding_total(256, 7, 2), 5);
  EXPECT_EQ(kernels::same_padding_before(255, 7, 2), 3);
  EXPECT_EQ(kernels::same_padding_total(255, 7, 2), 6);
  EXPECT_EQ(kernels::same_padding_before(256, 3, 2), 0);
  EXPECT_EQ(kernels::same_padding_total(256, 3, 2), 1);
  EXPECT_EQ(kernels::same_padding_total(256, 1, 2), 0);
}

struct Pass {
  Tensor output;
  std::vector<Tensor> gradients;
  std::vector<Tensor> buffers;
};

enum class Form : std::uint8_t { kernels, plain };

Pass pass(FeatureExtractor& extractor, const Tensor& images, Form form) {
  const DropoutKey key{3, 5, 7, 11};
  const Tensor output =
      form == Form::plain ? extractor->forward_plain(images, key) : extractor->forward(images, key);
  const Tensor direction =
      torch::linspace(-1, 1.5, output.numel(), torch::TensorOptions(output.scalar_type()))
          .view(output.sizes());
  (output * direction).sum().backward();
  Pass result{output.detach().contiguous(), {}, {}};
  for (Tensor& weight : extractor->parameters()) {
    result.gradients.push_back(weight.grad().clone());
    weight.mutable_grad() = Tensor();
  }
  for (const Tensor& buffer : extractor->buffers()) {
    result.buffers.push_back(buffer.to(torch::kFloat64, false, /*copy=*/true));
  }
  return result;
}

void randomise(FeatureExtractor& extractor) {
  const torch::NoGradGuard no_gradient;
  for (Tensor& weight : extractor->parameters()) {
    if (weight.dim() == 1) weight.uniform_(0.5, 1.5);
  }
}

TEST(FeatureExtractor, KernelsEqualTensorOperations) {
  FeatureExtractorOptions steep = small();
  steep.layers = {{32}, {64}, {32}, {64}};
  steep.slope = 0;
  struct Case {
    FeatureExtractorOptions options;
    torch::ScalarType type;
    std::int64_t height, width;
    double relative, of_output, of_gradient;  // differences
  };
  for (const Case& c : {Case{small(), torch::kFloat64, 64, 64, 1e-9, 1e-10, 1e-8},
                        Case{small(), torch::kFloat64, 37, 50, 1e-9, 1e-10, 1e-8},
                        Case{small(), torch::kFloat64, 16, 16, 1e-9, 1e-10, 1e-8},
                        Case{steep, torch::kFloat32, 96, 96, 1e-4, 1e-4, 2e-3}}) {
    FeatureExtractor a = made(c.options, 4, c.type);
    FeatureExtractor b = made(c.options, 4, c.type);
    for (FeatureExtractor* extractor : {&a, &b}) {
      torch::manual_seed(9);
      if (c.type == torch::kFloat64) randomise(*extractor);
    }
    const Tensor images = torch::rand({5, 3, c.height, c.width}, c.type);
    const Pass actual = pass(a, images, Form::kernels);
    const Pass expected = pass(b, images, Form::plain);
    EXPECT_TRUE(torch::allclose(actual.output, expected.output, c.relative, c.of_output));
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      const auto scale = expected.gradients[i].abs().max().item<double>();
      const Tensor difference = actual.gradients[i] - expected.gradients[i];
      EXPECT_LT(difference.abs().max().item<double>(), c.of_gradient * std::max(1.0, scale))
          << a->named_parameters()[i].key() << " at " << c.height << "x" << c.width;
    }
    for (std::size_t i = 0; i < expected.buffers.size(); ++i) {
      EXPECT_TRUE(torch::allclose(actual.buffers[i], expected.buffers[i], c.relative, c.of_output))
          << a->named_buffers()[i].key();
    }
  }
}

TEST(FeatureExtractor, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(4);
  FeatureExtractorOptions options;
  options.layers = {{4, 3, 2}, {6, 3, 1}, {5, 3, 2}};
  options.slope = 0.1;
  FeatureExtractor extractor = made(options, 5, torch::kFloat64);
  randomise(extractor);
  const Tensor images = torch::rand({3, 3, 9, 8}, torch::kFloat64);
  const Tensor shape = extractor->forward(images, {});
  const Tensor direction = torch::randn(shape.sizes(), torch::kFloat64);
  test::expect_gradients(
      [&] {
        return (extractor->forward(images, {1, 2, 3, 4}) * direction).sum();
      },
      extractor->parameters(), 16, 1e-6, 1e-5);
}

/// A training step by the kernels.
std::vector<Tensor> step(FeatureExtractor& extractor, const std::vector<Tensor>& images) {
  return {extractor->forward(images[0], {1, 2, 3, 4})};
}

TEST(FeatureExtractor, ThreadsDoNotChangeAByte) {
  torch::manual_seed(5);
  test::expect_same_bytes_for_any_threads([] { return FeatureExtractor(small(), 6); },
                                          {torch::rand({19, 3, 50, 38})}, step);
}

TEST(FeatureExtractor, ThreadsDoNotChangeAByteWhereABlockIsFrozen) {
  const auto make = [] {
    FeatureExtractor extractor(small(), 6);
    const auto frozen = extractor->children().front();
    for (Tensor& weight : frozen->parameters()) weight.set_requires_grad(false);
    frozen->eval();
    return extractor;
  };
  torch::manual_seed(5);
  test::expect_same_bytes_for_any_threads(make, {torch::rand({19, 3, 50, 38})}, step);
}

TEST(FeatureExtractor, EvaluationDoesNotDependOnTheBatch) {
  torch::manual_seed(6);
  FeatureExtractor extractor(small(), 6);
  const torch::NoGradGuard no_gradient;
  for (Tensor& buffer : extractor->buffers()) {
    if (buffer.is_floating_point()) buffer.uniform_(0.5, 1.5);
  }
  extractor->eval();
  const Tensor images = torch::rand({64, 3, 32, 32});
  const Tensor together = extractor->forward(images);
  EXPECT_TRUE(torch::allclose(together, extractor->forward_plain(images, {}), 1e-4, 1e-5));
  for (const std::int64_t i : {0, 31, 63}) {
    EXPECT_TRUE(
        torch::allclose(extractor->forward(images.narrow(0, i, 1))[0], together[i], 1e-5, 1e-5));
  }
}

TEST(FeatureExtractor, LayoutOfTheImagesDoesNotMatter) {
  torch::manual_seed(10);
  const Tensor images = torch::rand({3, 3, 33, 30});
  const Tensor pixels = images.contiguous(torch::MemoryFormat::ChannelsLast);
  FeatureExtractor a(small(), 6);
  FeatureExtractor b(small(), 6);
  const Pass expected = pass(a, images, Form::kernels);
  const Pass actual = pass(b, pixels, Form::kernels);
  EXPECT_TRUE(torch::equal(actual.output, expected.output));
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    EXPECT_TRUE(torch::equal(actual.gradients[i], expected.gradients[i])) << i;
  }
  const torch::NoGradGuard no_gradient;
  a->eval();
  EXPECT_TRUE(torch::equal(a->forward(images), a->forward(pixels)));
}

TEST(FeatureExtractor, UnderAutocastItIsCloseToFloat) {
  torch::manual_seed(8);
  FeatureExtractor extractor(small(), 6);
  const Tensor images = torch::rand({4, 3, 64, 64});
  for (const bool training : {true, false}) {
    extractor->train(training);
    const auto passed = [&](Precision precision) {
      const Autocast autocast(torch::kCPU, precision);
      return extractor->forward(images, {1, 2, 3, 4});
    };
    const Tensor expected = passed(Precision::float32).detach();
    const Tensor actual = passed(Precision::bfloat16);
    EXPECT_EQ(expected.scalar_type(), torch::kFloat32);
    EXPECT_EQ(actual.scalar_type(), torch::kBFloat16);
    EXPECT_LT((actual.detach().to(torch::kFloat32) - expected).norm().item<double>(),
              0.03 * expected.norm().item<double>());
    actual.to(torch::kFloat32).square().sum().backward();
    for (Tensor& weight : extractor->parameters()) {
      EXPECT_EQ(weight.grad().scalar_type(), torch::kFloat32);
      EXPECT_TRUE(torch::isfinite(weight.grad()).all().item<bool>());
      weight.mutable_grad() = Tensor();
    }
  }
}

TEST(FeatureExtractor, FrozenBlocksWorkAsInEvaluation) {
  torch::manual_seed(12);
  const Tensor images = torch::rand({4, 3, 40, 40});
  FeatureExtractor extractor(small(), 6);
  std::vector<torch::nn::Module*> blocks;
  for (const auto& block : extractor->children()) blocks.push_back(block.get());
  for (const Tensor& weight : blocks[0]->parameters()) Tensor(weight).set_requires_grad(false);
  blocks[0]->eval();
  const Tensor before = extractor->named_buffers()["0.bn.running_mean"].clone();
  extractor->forward(images).sum().backward();
  EXPECT_TRUE(torch::equal(extractor->named_buffers()["0.bn.running_mean"], before));
  EXPECT_GT(extractor->named_buffers()["1.bn.running_mean"].abs().sum().item<double>(), 0);
  EXPECT_FALSE(extractor->named_parameters()["0.c.weight"].grad().defined());
  EXPECT_TRUE(extractor->named_parameters()["1.c.weight"].grad().defined());

  for (Tensor& weight : extractor->parameters()) weight.set_requires_grad(false);
  extractor->eval();
  EXPECT_FALSE(extractor->forward(images).requires_grad());
}

TEST(FeatureExtractor, DropoutFollowsLibTorchsGenerator) {
  const Tensor images = torch::rand({2, 3, 32, 32});
  FeatureExtractor extractor(small(), 6);
  const auto seeded = [&](std::uint64_t seed) {
    torch::manual_seed(seed);
    return extractor->forward(images).detach();
  };
  EXPECT_TRUE(torch::equal(seeded(1), seeded(1)));
  EXPECT_FALSE(torch::equal(seeded(1), seeded(2)));
}

TEST(FeatureExtractor, WeightsThatChangeBeforeTheBackwardPassAreAnError) {
  FeatureExtractor extractor(small(), 6);
  const Tensor output = extractor->forward(torch::rand({2, 3, 32, 32}), {});
  {
    const torch::NoGradGuard no_gradient;
    Tensor(extractor->parameters()[0]).add_(1);
  }
  EXPECT_ANY_THROW(output.sum().backward());
}

TEST(SpatialDropout, DropsTheAskedShareAndScalesTheRest) {
  const Tensor factors = spatial_dropout(200, 500, 0.3, {1, 2, 3, 4}, 0);
  EXPECT_NEAR((factors == 0).to(torch::kFloat32).mean().item<double>(), 0.3, 0.01);
  EXPECT_NEAR(factors.max().item<double>(), 1 / 0.7, 1e-6);
  EXPECT_NEAR(factors.mean().item<double>(), 1.0, 0.01);
}

TEST(SpatialDropout, DependsOnEveryPartOfTheKey) {
  const DropoutKey key{1, 2, 3, 4};
  const Tensor factors = spatial_dropout(4, 64, 0.3, key, 0);
  EXPECT_TRUE(torch::equal(factors, spatial_dropout(4, 64, 0.3, key, 0)));
  EXPECT_FALSE(torch::equal(factors, spatial_dropout(4, 64, 0.3, key, 1)));
  EXPECT_FALSE(torch::equal(factors, spatial_dropout(4, 64, 0.3, {9, 2, 3, 4}, 0)));
  EXPECT_FALSE(torch::equal(factors, spatial_dropout(4, 64, 0.3, {1, 9, 3, 4}, 0)));
  EXPECT_FALSE(torch::equal(factors, spatial_dropout(4, 64, 0.3, {1, 2, 9, 4}, 0)));
  EXPECT_FALSE(torch::equal(factors, spatial_dropout(4, 64, 0.3, {1, 2, 3, 9}, 0)));
}

TEST(FeatureExtractor, RefusesWhatDoesNotFit) {
  EXPECT_REFUSED(FeatureExtractor(FeatureExtractorOptions{}, 1), Fault::configuration,
                 "needs at least one layer");
  FeatureExtractorOptions options = small();
  options.dropout = 1.0;
  EXPECT_REFUSED(FeatureExtractor(options, 1), Fault::configuration, "the dropout rate must be");
  FeatureExtractor extractor(small(), 1);
  EXPECT_REFUSED((void)extractor->forward(torch::rand({2, 1, 32, 32}), {}), Fault::internal,
                 "not Float [2, 1, 32, 32]");
  EXPECT_REFUSED((void)extractor->forward(torch::rand({2, 3, 32, 32}, torch::kFloat64), {}),
                 Fault::internal, "not Double [2, 3, 32, 32]");
}

FeatureExtractorOptions unpadded(Normalisation normalisation) {
  FeatureExtractorOptions options;
  options.layers = {{4, 5, 1}, {6, 3, 2}, {8, 3, 2}};
  options.padding = Padding::none;
  options.dropout = 0;
  options.normalisation = normalisation;
  options.slope = 0.2;
  return options;
}

/// By torch::conv2d and the definition of batch normalisation.
Tensor as_described(const FeatureExtractor& features, Tensor x, bool normalised, double slope) {
  auto at = features->named_parameters();
  const Sizes strides{1, 2, 2};
  for (std::size_t layer = 0; layer < strides.size(); ++layer) {
    const std::string name = std::to_string(layer);
    x = torch::conv2d(x, at[name + ".c.weight"], at[name + ".c.bias"], strides[layer]);
    if (layer + 1 == strides.size()) return x;
    if (normalised) {
      const Tensor mean = x.mean({0, 2, 3}, true);
      x = (x - mean) / torch::sqrt((x - mean).square().mean({0, 2, 3}, true) + 1e-3);
    }
    x = torch::where(x > 0, x, slope * x);
  }
  return x;
}

TEST(UnpaddedFeatureExtractor, ComputesWhatItIsDescribedAs) {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({3, 3, 20, 17}, torch::kFloat64);
  for (const Normalisation normalisation : {Normalisation::none, Normalisation::batch}) {
    FeatureExtractor features(unpadded(normalisation), 2);
    features->to(torch::kFloat64);
    const Tensor actual = features->forward(images, {});
    EXPECT_TRUE(torch::allclose(
        actual, as_described(features, images, normalisation == Normalisation::batch, 0.2), 1e-10,
        1e-11));
    const MapSize size = features->map_size(20, 17);
    EXPECT_EQ(actual.sizes(), (Sizes{3, size.channels, size.height, size.width}));
  }
}

TEST(UnpaddedFeatureExtractor, ItsLastConvolutionIsPaddedAsTensorFlowDoesWhereAsked) {
  const torch::NoGradGuard no_gradient;
  for (const std::int64_t size : {20, 17}) {
    FeatureExtractorOptions options = unpadded(Normalisation::none);
    FeatureExtractor plain(options, 2);
    options.padding = Padding::last;
    FeatureExtractor padded(options, 2);
    const Tensor images = torch::rand({1, 3, size, size});
    const Tensor actual = padded->forward(images, {});
    const MapSize map = padded->map_size(size, size);
    EXPECT_EQ(actual.sizes(), (Sizes{1, map.channels, map.height, map.width}));

    // 16 and 13 wide, 7 and 6 after the second: a window of 3 every 2 covers 7 with one more on
    // each side, and 6 with one on the right.
    const Tensor middle = torch::leaky_relu(
        torch::conv2d(
            torch::leaky_relu(
                torch::conv2d(images, padded->parameters()[0], padded->parameters()[1]), 0.2),
            padded->parameters()[2], padded->parameters()[3], 2),
        0.2);
    const std::int64_t before = middle.size(2) == 7 ? 1 : 0;
    const Tensor wide = torch::constant_pad_nd(middle, {before, 1, before, 1}, 0);
    const Tensor expected =
        torch::conv2d(wide, padded->parameters()[4], padded->parameters()[5], 2);
    EXPECT_TRUE(torch::allclose(actual, expected, 1e-5, 1e-6)) << size;
    EXPECT_EQ(map.height, middle.size(2) == 7 ? 4 : 3);
    EXPECT_EQ(plain->map_size(size, size).height, middle.size(2) == 7 ? 3 : 2);
  }
}

TEST(UnpaddedFeatureExtractor, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads one(1);  // many small passes
  torch::manual_seed(2);
  FeatureExtractorOptions options = unpadded(Normalisation::batch);
  options.dropout = 0.3;
  FeatureExtractor features(options, 2);
  features->to(torch::kFloat64);
  const Tensor images = torch::rand({2, 3, 15, 15}, torch::kFloat64);
  const Tensor direction = torch::randn({2, 8, 2, 2}, torch::kFloat64);
  test::expect_gradients(
      [&] {
        return (features->forward(images, {1, 2, 3, 4}) * direction).sum();
      },
      features->parameters(), 8, 1e-6, 1e-5);
}

TEST(UnpaddedFeatureExtractor, ImagesThatAreTooSmallAreNamed) {
  FeatureExtractor features(unpadded(Normalisation::none), 2);
  EXPECT_REFUSED((void)features->forward(torch::rand({1, 3, 8, 40}), {}), Fault::data,
                 "images of 40x8 (width x height)");
}

}  // namespace seam::nn::feature_extractor_test
