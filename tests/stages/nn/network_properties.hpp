/// Properties of layers and networks.
#pragma once

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <seam/tensor.hpp>

#include <vector>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::test {

/// The inputs, and the weights of the network, for expect_gradients().
inline std::vector<torch::Tensor> with_weights(std::vector<torch::Tensor> inputs,
                                               const torch::nn::Module& net) {
  for (const torch::Tensor& weight : net.parameters()) inputs.push_back(weight);
  return inputs;
}

/// Every weight of the network has a finite gradient.
inline void expect_finite_gradients(const torch::nn::Module& net) {
  for (const auto& item : net.named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_TRUE(torch::isfinite(item.value().grad()).all().item<bool>()) << item.key();
  }
}

/// In bfloat16, the result of `pass` is float32 and near that in float32, with finite gradients.
template <class Pass>
void expect_close_under_autocast(const torch::nn::Module& net, const Pass& pass) {
  const at::AutoGradMode gradients(true);  // a stage's harness may have turned them off
  const auto passed = [&](Precision precision) {
    const Autocast autocast(torch::kCPU, precision);
    return pass();
  };
  const torch::Tensor expected = passed(Precision::float32).detach();
  const torch::Tensor actual = passed(Precision::bfloat16);
  EXPECT_EQ(actual.scalar_type(), torch::kFloat32);
  EXPECT_LT((actual.detach() - expected).norm().template item<double>(),
            0.05 * expected.norm().template item<double>());
  actual.sum().backward();
  expect_finite_gradients(net);
}

/// Checks that a training pass has the same bytes for any number of threads: its results, the
/// gradients of the weights and of inputs that require one, and running statistics. `make` creates
/// the network; `pass` gets it and copies of the inputs, and returns the results.
template <class Make, class Pass>
void expect_same_bytes_for_any_threads(const Make& make, const std::vector<torch::Tensor>& inputs,
                                       const Pass& pass) {
  const at::AutoGradMode gradients(true);  // a stage's harness may have turned them off
  std::vector<torch::Tensor> first;
  for (const int count : {1, 2, 3, 5, 8}) {
    const Threads threads(count);
    torch::manual_seed(3);
    auto net = make();
    std::vector<torch::Tensor> leaves;
    for (const torch::Tensor& input : inputs) {
      leaves.push_back(input.detach().clone().requires_grad_(input.requires_grad()));
    }
    std::vector<torch::Tensor> all = pass(net, leaves);
    torch::Tensor sum = torch::zeros({});
    for (const torch::Tensor& result : all) sum = sum + result.pow(3).sum();
    sum.backward();
    for (const torch::Tensor& leaf : with_weights(leaves, *net)) {
      if (!leaf.requires_grad()) continue;
      ASSERT_TRUE(leaf.grad().defined());
      all.push_back(leaf.grad());
    }
    for (const torch::Tensor& buffer : net->buffers()) all.push_back(buffer);
    if (first.empty()) first = all;
    ASSERT_EQ(all.size(), first.size());
    for (std::size_t at = 0; at < all.size(); ++at) {
      EXPECT_TRUE(torch::equal(all[at], first[at]))
          << "tensor " << at << " with " << count << " threads";
    }
  }
}

}  // namespace seam::test
