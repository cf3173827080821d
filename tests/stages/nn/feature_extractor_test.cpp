#include "stages/nn/feature_extractor.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/tensor.hpp>

#include "stages/nn/kernels/convolution.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace feature_extractor_test {

using torch::Tensor;

FeatureExtractorOptions small() {
  FeatureExtractorOptions options;
  options.layers = {{16}, {40}, {24}, {48}};
  options.activation = Activation::leaky_relu;
  return options;
}

FeatureExtractor made(const FeatureExtractorOptions& options, std::uint64_t seed,
                      torch::ScalarType type = torch::kFloat32) {
  FeatureExtractor extractor(options, seed);
  extractor->to(type);
  return extractor;
}

/// A convolution by its definition: TensorFlow's "SAME" padding, one output at a time.
Tensor slow_convolution(const Tensor& image, const Tensor& weight, const Tensor& bias,
                        std::int64_t stride) {
  const std::int64_t kernel = weight.size(2);
  const auto before = [&](std::int64_t size) {
    const std::int64_t outputs = (size + stride - 1) / stride;
    return std::max<std::int64_t>((outputs - 1) * stride + kernel - size, 0) / 2;
  };
  const std::int64_t height = image.size(1);
  const std::int64_t width = image.size(2);
  Tensor out =
      torch::empty({weight.size(0), (height + stride - 1) / stride, (width + stride - 1) / stride},
                   torch::kFloat64);
  const auto x = image.accessor<double, 3>();
  const auto w = weight.accessor<double, 4>();
  auto y = out.accessor<double, 3>();
  for (std::int64_t o = 0; o < out.size(0); ++o) {
    for (std::int64_t i = 0; i < out.size(1); ++i) {
      for (std::int64_t j = 0; j < out.size(2); ++j) {
        double sum = bias[o].item<double>();
        for (std::int64_t c = 0; c < image.size(0); ++c) {
          for (std::int64_t ky = 0; ky < kernel; ++ky) {
            for (std::int64_t kx = 0; kx < kernel; ++kx) {
              const std::int64_t in_y = i * stride + ky - before(height);
              const std::int64_t in_x = j * stride + kx - before(width);
              if (in_y < 0 || in_y >= height || in_x < 0 || in_x >= width) continue;
              sum += x[c][in_y][in_x] * w[o][c][ky][kx];
            }
          }
        }
        y[o][i][j] = sum;
      }
    }
  }
  return out;
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
    const Tensor image = torch::randn({c.channels, c.height, c.width}, torch::kFloat64);
    const Tensor expected = slow_convolution(image, weights[0], weights[1], c.stride);
    for (const Tensor& actual : {extractor->forward(image.unsqueeze(0))[0],
                                 extractor->forward_plain(image.unsqueeze(0), {})[0]}) {
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

TEST(FeatureExtractor, KernelsEqualTensorOperationsInDouble) {
  torch::manual_seed(2);
  struct Size {
    std::int64_t height, width;
  };
  for (const Size size : {Size{64, 64}, Size{37, 50}, Size{16, 16}}) {
    FeatureExtractor a = made(small(), 4, torch::kFloat64);
    FeatureExtractor b = made(small(), 4, torch::kFloat64);
    torch::manual_seed(9);
    randomise(a);
    torch::manual_seed(9);
    randomise(b);
    const Tensor images = torch::rand({5, 3, size.height, size.width}, torch::kFloat64);
    const Pass actual = pass(a, images, Form::kernels);
    const Pass expected = pass(b, images, Form::plain);
    EXPECT_TRUE(torch::allclose(actual.output, expected.output, 1e-9, 1e-10));
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      EXPECT_TRUE(torch::allclose(actual.gradients[i], expected.gradients[i], 1e-7, 1e-8))
          << a->named_parameters()[i].key() << " at " << size.height << "x" << size.width << ": "
          << (actual.gradients[i] - expected.gradients[i]).abs().max().item<double>();
    }
    for (std::size_t i = 0; i < expected.buffers.size(); ++i) {
      EXPECT_TRUE(torch::allclose(actual.buffers[i], expected.buffers[i], 1e-9, 1e-10))
          << a->named_buffers()[i].key();
    }
  }
}

TEST(FeatureExtractor, KernelsEqualTensorOperationsInFloat) {
  torch::manual_seed(3);
  FeatureExtractorOptions options = small();
  options.layers = {{32}, {64}, {32}, {64}};
  options.activation = Activation::relu;
  FeatureExtractor a(options, 4);
  FeatureExtractor b(options, 4);
  const Tensor images = torch::rand({4, 3, 96, 96});
  const Pass actual = pass(a, images, Form::kernels);
  const Pass expected = pass(b, images, Form::plain);
  EXPECT_TRUE(torch::allclose(actual.output, expected.output, 1e-4, 1e-4));
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    const double scale = expected.gradients[i].abs().max().item<double>();
    const double difference =
        (actual.gradients[i] - expected.gradients[i]).abs().max().item<double>();
    EXPECT_LT(difference, 2e-3 * std::max(1.0, scale)) << a->named_parameters()[i].key();
  }
}

TEST(FeatureExtractor, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(4);
  FeatureExtractorOptions options;
  options.layers = {{4, 3, 2}, {6, 3, 1}, {5, 3, 2}};
  options.activation = Activation::leaky_relu;
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

TEST(FeatureExtractor, ThreadsDoNotChangeAByte) {
  torch::manual_seed(5);
  const Tensor images = torch::rand({19, 3, 50, 38});
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    FeatureExtractor extractor(small(), 6);
    return pass(extractor, images, Form::kernels);
  };
  const Pass one = with_threads(1);
  const Pass eight = with_threads(8);
  EXPECT_TRUE(torch::equal(one.output, eight.output));
  for (std::size_t i = 0; i < one.gradients.size(); ++i) {
    EXPECT_TRUE(torch::equal(one.gradients[i], eight.gradients[i])) << i;
  }
  for (std::size_t i = 0; i < one.buffers.size(); ++i) {
    EXPECT_TRUE(torch::equal(one.buffers[i], eight.buffers[i])) << i;
  }
}

TEST(FeatureExtractor, ThreadsDoNotChangeAByteWhereABlockIsFrozen) {
  torch::manual_seed(5);
  const Tensor images = torch::rand({19, 3, 50, 38});
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    FeatureExtractor extractor(small(), 6);
    const auto frozen = extractor->children().front();
    for (Tensor& weight : frozen->parameters()) weight.set_requires_grad(false);
    frozen->eval();
    const Tensor output = extractor->forward(images, {1, 2, 3, 4});
    (output * torch::arange(output.numel()).view(output.sizes()).sin()).sum().backward();
    std::vector<Tensor> all = extractor->buffers();
    all.push_back(output.detach());
    for (const Tensor& weight : extractor->parameters()) {
      if (weight.requires_grad()) all.push_back(weight.grad());
    }
    return all;
  };
  const std::vector<Tensor> one = with_threads(1);
  const std::vector<Tensor> eight = with_threads(8);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(torch::equal(one[i], eight[i])) << i;
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

}  // namespace feature_extractor_test
}  // namespace seam::nn
