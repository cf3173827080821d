#include "stages/nn/feature_extractor.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <seam/error.hpp>

#include "stages/nn/kernels/convolution.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace {

using torch::Tensor;

FeatureExtractorOptions small(torch::ScalarType type = torch::kFloat32) {
  FeatureExtractorOptions options;
  options.layers = {{16}, {40}, {24}, {48}};
  options.activation = Activation::leaky_relu;
  options.type = type;
  return options;
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
    options.type = torch::kFloat64;
    FeatureExtractor extractor(options, 1, 0);
    const torch::NoGradGuard no_gradient;
    extractor.weights()[1].second.uniform_(-1, 1);
    const Tensor image = torch::randn({c.channels, c.height, c.width}, torch::kFloat64);
    const Tensor expected = slow_convolution(image, extractor.weights()[0].second,
                                             extractor.weights()[1].second, c.stride);
    for (const Tensor& actual : {extractor.evaluate(image.unsqueeze(0))[0],
                                 extractor.evaluate_reference(image.unsqueeze(0))[0]}) {
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

Pass pass(FeatureExtractor& extractor, const Tensor& images, bool reference) {
  const DropoutKey key{3, 5, 7, 11};
  const Tensor output =
      reference ? extractor.train_reference(images, key) : extractor.train(images, key);
  const Tensor direction =
      torch::linspace(-1, 1.5, output.numel(), torch::TensorOptions(output.scalar_type()))
          .view(output.sizes());
  (output * direction).sum().backward();
  Pass result{output.detach().contiguous(), {}, {}};
  for (const auto& [name, weight] : extractor.weights()) {
    result.gradients.push_back(weight.grad().clone());
    Tensor(weight).mutable_grad() = Tensor();
  }
  for (const auto& [name, buffer] : extractor.buffers()) result.buffers.push_back(buffer.clone());
  return result;
}

void randomise(FeatureExtractor& extractor) {
  const torch::NoGradGuard no_gradient;
  for (const auto& [name, weight] : extractor.weights()) {
    if (weight.dim() == 1) Tensor(weight).uniform_(0.5, 1.5);
  }
}

TEST(FeatureExtractor, KernelsEqualTensorOperationsInDouble) {
  torch::manual_seed(2);
  struct Size {
    std::int64_t height, width;
  };
  for (const Size size : {Size{64, 64}, Size{37, 50}, Size{16, 16}}) {
    FeatureExtractor a(small(torch::kFloat64), 4, 0);
    FeatureExtractor b(small(torch::kFloat64), 4, 0);
    torch::manual_seed(9);
    randomise(a);
    torch::manual_seed(9);
    randomise(b);
    const Tensor images = torch::rand({5, 3, size.height, size.width}, torch::kFloat64);
    const Pass actual = pass(a, images, false);
    const Pass expected = pass(b, images, true);
    EXPECT_TRUE(torch::allclose(actual.output, expected.output, 1e-9, 1e-10));
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      EXPECT_TRUE(torch::allclose(actual.gradients[i], expected.gradients[i], 1e-7, 1e-8))
          << a.weights()[i].first << " at " << size.height << "x" << size.width << ": "
          << (actual.gradients[i] - expected.gradients[i]).abs().max().item<double>();
    }
    for (std::size_t i = 0; i < expected.buffers.size(); ++i) {
      EXPECT_TRUE(torch::allclose(actual.buffers[i], expected.buffers[i], 1e-9, 1e-10))
          << a.buffers()[i].first;
    }
  }
}

TEST(FeatureExtractor, KernelsEqualTensorOperationsInFloat) {
  torch::manual_seed(3);
  FeatureExtractorOptions options = small();
  options.layers = {{32}, {64}, {32}, {64}};
  options.activation = Activation::relu;
  FeatureExtractor a(options, 4, 0);
  FeatureExtractor b(options, 4, 0);
  const Tensor images = torch::rand({4, 3, 96, 96});
  const Pass actual = pass(a, images, false);
  const Pass expected = pass(b, images, true);
  EXPECT_TRUE(torch::allclose(actual.output, expected.output, 1e-4, 1e-4));
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    const double scale = expected.gradients[i].abs().max().item<double>();
    const double difference =
        (actual.gradients[i] - expected.gradients[i]).abs().max().item<double>();
    EXPECT_LT(difference, 2e-3 * std::max(1.0, scale)) << a.weights()[i].first;
  }
}

TEST(FeatureExtractor, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(4);
  FeatureExtractorOptions options;
  options.layers = {{4, 3, 2}, {6, 3, 1}, {5, 3, 2}};
  options.activation = Activation::leaky_relu;
  options.type = torch::kFloat64;
  FeatureExtractor extractor(options, 5, 0);
  randomise(extractor);
  const Tensor images = torch::rand({3, 3, 9, 8}, torch::kFloat64);
  const Tensor shape = extractor.train(images, {});
  const Tensor direction = torch::randn(shape.sizes(), torch::kFloat64);
  std::vector<Tensor> weights;
  for (const auto& [name, weight] : extractor.weights()) weights.push_back(weight);
  test::expect_gradients(
      [&] {
        return (extractor.train(images, {1, 2, 3, 4}) * direction).sum();
      },
      weights, 16, 1e-6, 1e-5);
}

TEST(FeatureExtractor, ThreadsDoNotChangeAByte) {
  torch::manual_seed(5);
  const Tensor images = torch::rand({19, 3, 50, 38});
  const auto with_threads = [&](int count) {
    const test::Threads threads(count);
    FeatureExtractor extractor(small(), 6, 0);
    return pass(extractor, images, false);
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

TEST(FeatureExtractor, EvaluationDoesNotDependOnTheBatch) {
  torch::manual_seed(6);
  FeatureExtractor extractor(small(), 6, 0);
  const torch::NoGradGuard no_gradient;
  for (const auto& [name, buffer] : extractor.buffers()) Tensor(buffer).uniform_(0.5, 1.5);
  const Tensor images = torch::rand({64, 3, 32, 32});
  const Tensor together = extractor.evaluate(images);
  EXPECT_TRUE(torch::allclose(together, extractor.evaluate_reference(images), 1e-4, 1e-5));
  for (const std::int64_t i : {0, 31, 63}) {
    EXPECT_TRUE(
        torch::allclose(extractor.evaluate(images.narrow(0, i, 1))[0], together[i], 1e-5, 1e-5));
  }
}

TEST(FeatureExtractor, LayoutOfTheImagesDoesNotMatter) {
  torch::manual_seed(10);
  const Tensor images = torch::rand({3, 3, 33, 30});
  const Tensor pixels = images.contiguous(torch::MemoryFormat::ChannelsLast);
  FeatureExtractor a(small(), 6, 0);
  FeatureExtractor b(small(), 6, 0);
  const Pass expected = pass(a, images, false);
  const Pass actual = pass(b, pixels, false);
  EXPECT_TRUE(torch::equal(actual.output, expected.output));
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    EXPECT_TRUE(torch::equal(actual.gradients[i], expected.gradients[i])) << i;
  }
  const torch::NoGradGuard no_gradient;
  EXPECT_TRUE(torch::equal(a.evaluate(images), a.evaluate(pixels)));
}

TEST(FeatureExtractor, BfloatIsCloseToFloat) {
  torch::manual_seed(8);
  FeatureExtractorOptions options = small();
  const FeatureExtractor wide(options, 6, 0);
  options.precision = Precision::bfloat16;
  const FeatureExtractor narrow(options, 6, 0);
  const torch::NoGradGuard no_gradient;
  const Tensor images = torch::rand({2, 3, 32, 32});
  const Tensor expected = wide.evaluate(images);
  EXPECT_LT((narrow.evaluate(images) - expected).abs().max().item<double>(),
            0.03 * expected.abs().max().item<double>());
}

TEST(FeatureExtractor, ImagesThatNeedAGradientGetOne) {
  FeatureExtractor extractor(small(), 6, 0);
  const Tensor images = torch::rand({2, 3, 32, 32}).requires_grad_(true);
  extractor.train(images, {}).sum().backward();
  EXPECT_TRUE(images.grad().defined());
}

TEST(FeatureExtractor, WeightsThatChangeBeforeTheBackwardPassAreAnError) {
  FeatureExtractor extractor(small(), 6, 0);
  const Tensor output = extractor.train(torch::rand({2, 3, 32, 32}), {});
  {
    const torch::NoGradGuard no_gradient;
    Tensor(extractor.weights()[0].second).add_(1);
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
  EXPECT_THROW(FeatureExtractor({}, 1, 0), Error);
  FeatureExtractorOptions options = small();
  options.dropout = 1.0;
  EXPECT_THROW(FeatureExtractor(options, 1, 0), Error);
  FeatureExtractor extractor(small(), 1, 0);
  EXPECT_THROW((void)extractor.train(torch::rand({2, 1, 32, 32}), {}), Error);
  EXPECT_THROW((void)extractor.train(torch::rand({2, 3, 32, 32}, torch::kFloat64), {}), Error);
}

}  // namespace
}  // namespace seam::stages
