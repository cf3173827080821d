/// The numeric kernels of every instruction set that this processor has, forward and backward,
/// against LibTorch's operations and its gradients.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "stages/nn/kernels/convolution.hpp"
#include "stages/nn/kernels/routing.hpp"
#include "stages/nn/routing.hpp"
#include "stages/nn/squash.hpp"
#include "tests/stages/nn/routing_reference.hpp"

namespace seam::nn::kernels_test {

using stages::best_instruction_set;
using stages::InstructionSet;
using torch::Tensor;

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> all;
  for (const InstructionSet set :
       {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set <= best_instruction_set()) all.push_back(set);
  }
  return all;
}

template <class T>
torch::ScalarType element() {
  return std::is_same_v<T, float> ? torch::kFloat32 : torch::kFloat64;
}

template <class T>
Tensor random(const std::vector<std::int64_t>& sizes) {
  return torch::randn(sizes, torch::kFloat64).to(element<T>());
}

template <class T>
T* data(const Tensor& tensor) {
  return tensor.data_ptr<T>();
}

/// Compares with `expected`, in double, relative to its largest value.
template <class T>
void expect_close(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const Tensor difference = (actual.to(torch::kFloat64) - expected.to(torch::kFloat64)).abs();
  const double scale = expected.abs().max().clamp_min(1).template item<double>();
  EXPECT_LT(difference.max().item<double>() / scale, (std::is_same_v<T, float> ? 2e-5 : 1e-12))
      << what;
}

// ------------------------------------------------------------------- convolution

struct Sizes {
  std::int64_t height, width, in, out, kernel, stride;
};

std::string text_of(InstructionSet set, const Sizes& s) {
  return "instruction set " + std::to_string(static_cast<int>(set)) + ", " +
         std::to_string(s.height) + "x" + std::to_string(s.width) + "x" + std::to_string(s.in) +
         " to " + std::to_string(s.out) + ", kernel " + std::to_string(s.kernel) + ", stride " +
         std::to_string(s.stride);
}

/// A convolution with "SAME" padding and its gradients, by LibTorch in double; all images and
/// outputs with channels last.
struct Reference {
  Tensor output, image_gradient, weight_gradient, bias_gradient;
};
Reference reference(const kernels::ConvolutionShape& s, const Tensor& image, const Tensor& weight,
                    const Tensor& bias, const Tensor& gradient) {
  const Tensor x = image.to(torch::kFloat64).clone().requires_grad_(true);
  const Tensor w = weight.to(torch::kFloat64).clone().requires_grad_(true);
  const Tensor b = bias.to(torch::kFloat64).clone().requires_grad_(true);
  const auto after = [&](std::int64_t size, std::int64_t before) {
    return kernels::same_padding_total(size, s.kernel, s.stride) - before;
  };
  const Tensor padded = torch::constant_pad_nd(
      x.unsqueeze(0),
      {s.pad_left, after(s.width, s.pad_left), s.pad_top, after(s.height, s.pad_top)});
  const Tensor y = torch::conv2d(padded, w, b, s.stride)[0].permute({1, 2, 0});
  (y * gradient.to(torch::kFloat64)).sum().backward();
  return {y.detach(), x.grad().permute({1, 2, 0}), w.grad(), b.grad()};
}

template <class T>
void check_convolution(InstructionSet set, const Sizes& sizes) {
  const std::string what = text_of(set, sizes);
  const auto& table = kernels::convolution_kernels<T>(set);
  const auto s = kernels::make_convolution_shape(sizes.height, sizes.width, sizes.in, sizes.out,
                                                 sizes.kernel, sizes.stride);
  const Tensor image = random<T>({sizes.in, sizes.height, sizes.width});
  const Tensor weight = random<T>({sizes.out, sizes.in, sizes.kernel, sizes.kernel});
  const Tensor bias = torch::zeros({table.panels(s) * table.panel}, element<T>());
  bias.narrow(0, 0, sizes.out).copy_(random<T>({sizes.out}));
  const Tensor gradient = random<T>({s.out_height, s.out_width, sizes.out});
  const Reference expected = reference(s, image, weight, bias.narrow(0, 0, sizes.out), gradient);

  // Buffers contain garbage before: kernels only read elements that they have written.
  const auto buffer = [](std::int64_t size) {
    return torch::full({size}, 1e30, torch::TensorOptions(element<T>()));
  };
  const Tensor packed = buffer(table.packed_size(s));
  table.pack(s, {0, table.panels(s)}, data<T>(weight), data<T>(packed));
  const Tensor unpacked = torch::empty_like(weight);
  table.unpack(s, {0, table.panels(s)}, data<T>(packed), data<T>(unpacked));
  EXPECT_TRUE(torch::equal(unpacked, weight)) << what;

  const Tensor input = buffer(table.input_size(s, s.out_height));
  table.pad_planes(s, data<T>(image), 0, s.out_height, data<T>(input));
  const Tensor pixels = image.permute({1, 2, 0}).contiguous();
  const Tensor copied = buffer(table.input_size(s, s.out_height));
  table.copy_pixels(s, data<T>(pixels), 0, s.out_height, data<T>(copied));
  EXPECT_TRUE(torch::equal(copied, input)) << what;

  const Tensor output = torch::empty_like(gradient);
  table.forward(s, {0, table.panels(s)}, data<T>(input), data<T>(packed), data<T>(bias), 0,
                s.out_height, data<T>(output));
  expect_close<T>(output, expected.output, what + ", output");

  const Tensor padded = buffer(table.gradient_size(s));
  table.pad_gradient(s, nullptr, data<T>(gradient), nullptr, nullptr, data<T>(padded));
  std::vector<double> bias_sums(static_cast<std::size_t>(sizes.out), 0.0);
  table.bias_gradient(s, data<T>(padded), bias_sums.data());
  expect_close<T>(torch::tensor(bias_sums, torch::kFloat64), expected.bias_gradient,
                  what + ", bias");

  const Tensor packed_gradient = torch::zeros_like(packed);
  table.weight_gradient(s, {0, table.weight_rows(s)}, data<T>(input), data<T>(padded), 0,
                        s.out_height, data<T>(packed_gradient));
  const Tensor weight_gradient = torch::empty_like(weight);
  table.unpack(s, {0, table.panels(s)}, data<T>(packed_gradient), data<T>(weight_gradient));
  expect_close<T>(weight_gradient, expected.weight_gradient, what + ", weight");

  const Tensor transposed = buffer(table.packed_transposed_size(s));
  table.pack_transposed(s, {0, table.transposed_blocks(s)}, data<T>(weight), data<T>(transposed));
  const Tensor image_gradient = torch::empty_like(pixels);
  table.input_gradient(s, {0, table.transposed_blocks(s)}, data<T>(padded), data<T>(transposed),
                       data<T>(image_gradient));
  expect_close<T>(image_gradient, expected.image_gradient, what + ", image");
}

TEST(ConvolutionKernels, OfEveryInstructionSetAreLibTorchsForwardAndBackward) {
  torch::manual_seed(7);
  const std::vector<Sizes> all{{21, 18, 16, 40, 7, 2}, {9, 12, 3, 5, 7, 2},  {10, 7, 32, 20, 3, 1},
                               {5, 7, 2, 3, 1, 2},     {4, 4, 48, 33, 7, 2}, {10, 7, 3, 17, 3, 3}};
  for (const InstructionSet set : instruction_sets()) {
    for (const Sizes& sizes : all) {
      check_convolution<float>(set, sizes);
      check_convolution<double>(set, sizes);
    }
  }
}

/// Normalisation, activation and dropout of a block: y * scale + shift, a slope below zero, a
/// factor.
struct Block {
  Tensor scale, shift, keep, output_slope, offset;
  double slope;
};

template <class T>
void check_block(InstructionSet set, std::int64_t channels) {
  const std::string what = text_of(set, {6, 5, channels, channels, 3, 1});
  const auto& table = kernels::convolution_kernels<T>(set);
  const auto s = kernels::make_convolution_shape(6, 5, channels, channels, 3, 1);
  const auto vector = [&] { return random<T>({channels}); };
  const Block block{vector(), vector(), (vector() > 0).to(element<T>()) * 1.5,
                    vector(), vector(), 0.1};
  const kernels::ChannelTransform<T> transform{data<T>(block.scale), data<T>(block.shift),
                                               data<T>(block.keep), static_cast<T>(block.slope)};
  const Tensor y = random<T>({6, 5, channels});
  const Tensor gradient = random<T>({6, 5, channels});
  const Tensor z = y * block.scale + block.shift;
  const Tensor slope = torch::where(z > 0, torch::ones_like(z), torch::full_like(z, block.slope));

  const Tensor made = torch::zeros({table.input_size(s, 6)}, element<T>());
  table.pad_pixels(s, data<T>(y), transform, 0, 6, data<T>(made));
  const Tensor wanted = torch::zeros({table.input_size(s, 6)}, element<T>());
  table.copy_pixels(s, data<T>((z * slope * block.keep).contiguous()), 0, 6, data<T>(wanted));
  expect_close<T>(made, wanted, what + ", input");

  const auto sums = [&] {
    return std::vector<double>(static_cast<std::size_t>(2 * channels), 0.0);
  };
  const auto expect_sums = [&](const std::vector<double>& actual, const Tensor& first,
                               const Tensor& second, const std::string& which) {
    const Tensor expected = torch::cat({first.to(torch::kFloat64).sum(at::IntArrayRef{0, 1}),
                                        second.to(torch::kFloat64).sum(at::IntArrayRef{0, 1})});
    expect_close<T>(torch::tensor(actual, torch::kFloat64), expected, what + ", " + which);
  };
  std::vector<double> of_output = sums();
  table.output_sums(30, channels, data<T>(y), of_output.data());
  expect_sums(of_output, y, y * y, "sums of the output");
  const Tensor dz = gradient * block.keep * slope;
  std::vector<double> of_gradient = sums();
  table.gradient_sums(30, channels, data<T>(y), data<T>(gradient), transform, of_gradient.data());
  expect_sums(of_gradient, dz, dz * y, "sums of the gradient");

  const kernels::GradientTransform<T> through{data<T>(block.scale), data<T>(block.output_slope),
                                              data<T>(block.offset)};
  const Tensor padded = torch::zeros({table.gradient_size(s)}, element<T>());
  table.pad_gradient(s, data<T>(y), data<T>(gradient), &transform, &through, data<T>(padded));
  const Tensor expected = torch::zeros({table.gradient_size(s)}, element<T>());
  const Tensor passed = (block.scale * dz + block.output_slope * y + block.offset).contiguous();
  table.pad_gradient(s, nullptr, data<T>(passed), nullptr, nullptr, data<T>(expected));
  expect_close<T>(padded, expected, what + ", gradient");
}

TEST(ConvolutionKernels, OfEveryInstructionSetPassThroughABlockAsItsDefinitionSays) {
  torch::manual_seed(8);
  for (const InstructionSet set : instruction_sets()) {
    for (const std::int64_t channels : {3, 16, 40}) {
      check_block<float>(set, channels);
      check_block<double>(set, channels);
    }
  }
}

// ----------------------------------------------------------------------- routing

struct RoutingSizes {
  std::int64_t inputs, input_size, classes, output_size;
};

template <class T>
void check_routing(InstructionSet set, const RoutingSizes& sizes, const RoutingOptions& options) {
  const std::string what = "instruction set " + std::to_string(static_cast<int>(set)) + ", " +
                           std::to_string(sizes.inputs) + " inputs, " +
                           std::to_string(options.iterations) + " iterations";
  const Tensor u = squash_reference(random<T>({1, sizes.inputs, sizes.input_size}));
  const Tensor weight = random<T>({sizes.input_size, sizes.classes * sizes.output_size}) * 0.5;
  const Tensor gradient = random<T>({1, sizes.classes, sizes.output_size});
  const Tensor wide_u = u.to(torch::kFloat64).clone().requires_grad_(true);
  const Tensor wide_weight = weight.to(torch::kFloat64).clone().requires_grad_(true);
  const Tensor expected = test::route_by_predictions(wide_u, wide_weight, sizes.classes, options);
  (expected * gradient).sum().backward();

  const auto& table = kernels::routing_kernels<T>(set);
  kernels::RoutingShape shape;
  shape.inputs = sizes.inputs;
  shape.input_size = sizes.input_size;
  shape.outputs = sizes.classes;
  shape.output_size = sizes.output_size;
  shape.iterations = options.iterations;
  shape.accumulate = options.logits == Logits::accumulate;
  const Tensor scratch = torch::full({table.scratch_size(shape)}, 1e30, u.options());
  const Tensor saved = torch::full({table.saved_size(shape)}, 1e30, u.options());
  const Tensor v = torch::empty_like(gradient);
  const auto epsilon = static_cast<T>(options.epsilon);
  table.forward(shape, epsilon, data<T>(u), data<T>(weight), data<T>(scratch), data<T>(saved),
                data<T>(v));
  expect_close<T>(v, expected.detach(), what + ", output");
  const Tensor u_gradient = torch::empty_like(u);
  const Tensor weight_gradient = torch::empty_like(weight);
  table.backward(shape, epsilon, data<T>(u), data<T>(weight), data<T>(saved), data<T>(gradient),
                 data<T>(scratch), data<T>(u_gradient), data<T>(weight_gradient));
  expect_close<T>(u_gradient, wide_u.grad(), what + ", inputs");
  expect_close<T>(weight_gradient, wide_weight.grad(), what + ", weight");
}

TEST(RoutingKernels, OfEveryInstructionSetAreLibTorchsForwardAndBackward) {
  torch::manual_seed(9);
  for (const InstructionSet set : instruction_sets()) {
    for (const RoutingSizes& sizes : {RoutingSizes{70, 16, 23, 16}, RoutingSizes{33, 8, 5, 12},
                                      RoutingSizes{7, 20, 3, 4}, RoutingSizes{1, 3, 1, 2}}) {
      for (const Logits logits : {Logits::replace, Logits::accumulate}) {
        RoutingOptions options;
        options.logits = logits;
        check_routing<float>(set, sizes, options);
        check_routing<double>(set, sizes, options);
      }
    }
  }
}

template <class T>
void check_squash(InstructionSet set) {
  const std::string what = "instruction set " + std::to_string(static_cast<int>(set));
  const auto& table = kernels::routing_kernels<T>(set);
  const RoutingOptions defaults;
  for (const std::int64_t size : {1, 5, 16}) {
    const Tensor s = random<T>({37, size});
    const Tensor gradient = random<T>({37, size});
    const Tensor wide = s.to(torch::kFloat64).clone().requires_grad_(true);
    const Tensor expected = squash_reference(wide);
    (expected * gradient).sum().backward();
    const Tensor v = torch::empty_like(s);
    table.squash(37, size, static_cast<T>(defaults.epsilon), data<T>(s), data<T>(v));
    expect_close<T>(v, expected.detach(), what + ", squash");
    const Tensor s_gradient = torch::empty_like(s);
    table.squash_gradient(37, size, static_cast<T>(defaults.epsilon), data<T>(s), data<T>(gradient),
                          data<T>(s_gradient));
    expect_close<T>(s_gradient, wide.grad(), what + ", gradient of squash");
  }
}

TEST(RoutingKernels, OfEveryInstructionSetSquashAsLibTorchDoes) {
  torch::manual_seed(10);
  for (const InstructionSet set : instruction_sets()) {
    check_squash<float>(set);
    check_squash<double>(set);
  }
}

}  // namespace seam::nn::kernels_test
