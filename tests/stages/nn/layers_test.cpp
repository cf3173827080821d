#include "stages/nn/layers.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <thread>
#include <vector>

namespace seam::nn::layers_test {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

/// The result and the gradients of the input and of all parameters.
template <class Layer>
Tensors results(Layer& layer, const Tensor& x) {
  layer->zero_grad();
  const Tensor input = x.detach().clone().requires_grad_(true);
  const Tensor y = layer(input);
  (y * torch::arange(y.numel(), y.options()).view(y.sizes()).sin()).sum().backward();
  Tensors all{y.detach(), input.grad()};
  for (const Tensor& parameter : layer->parameters()) all.push_back(parameter.grad().clone());
  for (const Tensor& buffer : layer->buffers()) all.push_back(buffer.clone());
  return all;
}

void expect_close(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t at = 0; at < a.size(); ++at) {
    EXPECT_TRUE(torch::allclose(a[at], b[at], 1e-9, 1e-9)) << at;
  }
}

void copy_weights(const torch::nn::Module& from, torch::nn::Module& to) {
  const torch::NoGradGuard no_gradient;
  for (std::size_t at = 0; at < from.parameters().size(); ++at) {
    to.parameters()[at].copy_(from.parameters()[at]);
  }
}

/// Our layer and LibTorch's with the same weights give the same results in float64.
template <class Ours, class Theirs>
void expect_as_libtorch(Ours ours, Theirs theirs, const Tensor& x) {
  ours->to(torch::kFloat64);
  theirs->to(torch::kFloat64);
  copy_weights(*theirs, *ours);
  for (const bool training : {true, true, false}) {  // running statistics are updated twice
    ours->train(training);
    theirs->train(training);
    expect_close(results(ours, x), results(theirs, x));
  }
}

Tensor input(at::IntArrayRef sizes) {
  torch::manual_seed(4);
  return torch::randn(sizes, torch::kFloat64);
}

TEST(Layers, AreLibTorchsInValueAndGradient) {
  const auto options = torch::nn::Conv2dOptions(4, 6, 3).stride(2).padding(1).groups(2);
  const auto bare = torch::nn::Conv2dOptions(4, 6, 3).bias(false);
  const auto last = torch::MemoryFormat::ChannelsLast;
  for (const std::int64_t rows : {1, 2, 8, 21}) {
    const Tensor x = input({rows, 4, 7, 9});
    expect_as_libtorch(Conv2d(options), torch::nn::Conv2d(options), x);
    expect_as_libtorch(Conv2d(options), torch::nn::Conv2d(options), x.contiguous(last));
    expect_as_libtorch(Conv2d(bare), torch::nn::Conv2d(bare), x);
    expect_as_libtorch(BatchNorm2d(4), torch::nn::BatchNorm2d(4), x);
    expect_as_libtorch(BatchNorm2d(4), torch::nn::BatchNorm2d(4), x.contiguous(last) + 3);
    expect_as_libtorch(Linear(5, 3), torch::nn::Linear(5, 3), input({rows, 5}));
    const auto plain = torch::nn::LinearOptions(5, 3).bias(false);
    expect_as_libtorch(Linear(plain), torch::nn::Linear(plain), input({rows, 5}));
  }
}

/// The gradients of weight and bias; one of the two is frozen.
template <class Layer>
Tensors gradients(Layer& layer, const Tensor& x, bool of_weight) {
  layer->zero_grad(/*set_to_none=*/true);
  const Tensor weight = layer->named_parameters()["weight"].set_requires_grad(of_weight);
  const Tensor bias = layer->named_parameters()["bias"].set_requires_grad(!of_weight);
  layer(x).sin().sum().backward();
  return {weight.grad(), bias.grad()};
}

/// Our layer trains weight and bias independently, as LibTorch's does.
template <class Ours, class Theirs>
void expect_independent(Ours ours, Theirs theirs, const Tensor& x) {
  ours->to(torch::kFloat64);
  theirs->to(torch::kFloat64);
  copy_weights(*theirs, *ours);
  for (const bool of_weight : {false, true}) {
    const Tensors expected = gradients(theirs, x, of_weight);
    const Tensors actual = gradients(ours, x, of_weight);
    for (const std::size_t at : {0U, 1U}) {
      ASSERT_EQ(actual[at].defined(), expected[at].defined()) << of_weight << at;
      if (expected[at].defined()) expect_close({actual[at]}, {expected[at]});
    }
  }
}

TEST(Layers, ABiasIsTrainedIfItsWeightIsFrozenAndTheReverse) {
  for (const bool of_x : {false, true}) {
    const Tensor x = input({9, 4, 7, 9}).requires_grad_(of_x);
    const auto options = torch::nn::Conv2dOptions(4, 6, 3).stride(2).padding(1).groups(2);
    expect_independent(Conv2d(options), torch::nn::Conv2d(options), x);
    const auto upwards = torch::nn::ConvTranspose2dOptions(4, 6, 3).stride(2).padding(1);
    expect_independent(ConvTranspose2d(upwards), torch::nn::ConvTranspose2d(upwards), x);
    expect_independent(Linear(9, 3), torch::nn::Linear(9, 3), x.flatten(0, 2));
  }
}

// oneDNN's own gradient would write past a workspace in the backward pass.
TEST(Layers, FewChannelsAreConvolvedInStridesOfOnePixel) {
  const auto last = torch::MemoryFormat::ChannelsLast;
  const auto narrow = torch::nn::Conv2dOptions(8, 16, 1).stride(2);
  const auto groups = torch::nn::Conv2dOptions(24, 6, 1).stride({2, 3}).groups(2).bias(false);
  const auto padded = torch::nn::Conv2dOptions(8, 16, 1).stride(2).padding(1);
  for (const std::int64_t rows : {1, 9}) {
    expect_as_libtorch(Conv2d(narrow), torch::nn::Conv2d(narrow), input({rows, 8, 11, 12}));
    expect_as_libtorch(Conv2d(groups), torch::nn::Conv2d(groups),
                       input({rows, 24, 11, 12}).contiguous(last));
    expect_as_libtorch(Conv2d(padded), torch::nn::Conv2d(padded), input({rows, 8, 11, 12}));
  }
  // With this size glibc notices it and aborts the process.
  Conv2d convolution(narrow);
  const Tensor x = input({1, 8, 112, 112}).to(torch::kFloat32).contiguous(last);
  const Tensors one = results(convolution, x);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(torch::equal(results(convolution, x)[2], one[2]));
}

TEST(Layers, GiveTheSameBytesForAnyNumberOfThreads) {
  Conv2d convolution(torch::nn::Conv2dOptions(16, 24, 3).padding(1));
  BatchNorm2d norm(24);
  Linear linear(64, 8);
  const Tensor x = input({13, 16, 20, 20}).to(torch::kFloat32);
  const Tensor z =
      input({13, 24, 20, 20}).to(torch::kFloat32).contiguous(torch::MemoryFormat::ChannelsLast);
  const Tensor v = input({6, 64}).to(torch::kFloat32);
  // oneDNN computes the gradient of this input differently with 5 threads than with 1.
  Conv2d strided(torch::nn::Conv2dOptions(64, 128, 3).stride(2).padding(1).bias(false));
  const Tensor w =
      input({96, 64, 16, 16}).to(torch::kFloat32).contiguous(torch::MemoryFormat::ChannelsLast);
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    for (Tensor& buffer : norm->buffers()) buffer.zero_();
    Tensors all = results(convolution, x);
    for (const Tensor& tensor : results(norm, z)) all.push_back(tensor);
    for (const Tensor& tensor : results(linear, v)) all.push_back(tensor);
    for (const Tensor& tensor : results(strided, w)) all.push_back(tensor);
    return all;
  };
  const int before = at::get_num_threads();
  const Tensors one = run(1);
  for (const int threads : {2, 3, 5}) {
    const Tensors many = run(threads);
    for (std::size_t at = 0; at < one.size(); ++at) {
      EXPECT_TRUE(torch::equal(one[at], many[at])) << at << " with " << threads << " threads";
    }
  }
  at::set_num_threads(before);
}

// LibTorch sets the number of threads when a thread first asks for it, even in the middle of a
// part.
TEST(Layers, GiveTheSameBytesOnThreadsThatHaveJustStarted) {
  torch::manual_seed(4);
  const Tensor x = torch::randn({37, 960, 1, 1});
  const auto normalised = [&x](int threads) {
    Tensor result;
    std::thread([&] {
      const torch::NoGradGuard no_gradient;
      const int before = at::get_num_threads();
      at::set_num_threads(threads);  // a new thread, which starts its own threads
      result = BatchNorm2d(x.size(1))(x);
      at::set_num_threads(before);
    }).join();
    return result;
  };
  const Tensor one = normalised(1);
  for (const int threads : {2, 3, 8}) {
    EXPECT_TRUE(torch::equal(normalised(threads), one)) << "with " << threads << " threads";
  }
}

TEST(Layers, WithoutPixelsOrInOtherShapesTheyAreLibTorchs) {
  EXPECT_EQ(Linear(5, 3)(torch::zeros({0, 5})).size(0), 0);
  EXPECT_EQ(Linear(5, 3)(torch::zeros({2, 4, 5})).sizes(), (std::vector<std::int64_t>{2, 4, 3}));
}

}  // namespace seam::nn::layers_test
