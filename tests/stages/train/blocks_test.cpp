#include "stages/train/blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <vector>

#include "stages/train/adam.hpp"
#include "stages/train/sgd.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace {

constexpr auto last = torch::MemoryFormat::ChannelsLast;

/// A weight of several blocks, a gradient, and moments behind some steps.
struct Weights {
  Tensor weight, gradient, mean, square;
};

Weights several_blocks() {
  torch::manual_seed(4);
  const auto random = [] { return torch::rand({120, 70, 3, 3}).contiguous(last); };
  return {random(), random() - 0.5, random() - 0.5, random()};
}

Weights after_adam(Weights weights, int threads) {
  const test::Threads scope(threads);
  AdamSettings settings;
  settings.weight_decay = 0.01;
  adam_step(weights.weight, weights.gradient, weights.mean, weights.square, 3, settings);
  return weights;
}

void expect_same(const Weights& found, const Weights& expected) {
  EXPECT_TRUE(torch::equal(found.weight, expected.weight));
  EXPECT_TRUE(torch::equal(found.mean, expected.mean));
  EXPECT_TRUE(torch::equal(found.square, expected.square));
}

TEST(InBlocks, GivesEveryElementOnceAndThoseOfOnePlaceTogether) {
  const Tensor at = torch::arange(50000).contiguous();
  const Tensor count = torch::zeros({50000}, torch::kInt64);
  std::atomic<int> calls{0};
  in_blocks({at, count, Tensor()}, [&](const std::vector<Tensor>& part) {
    ++calls;
    part[1].add_(part[0] + 1);
    EXPECT_FALSE(part[2].defined());
  });
  EXPECT_TRUE(torch::equal(count, at + 1));
  EXPECT_GT(calls, 1);
}

TEST(InBlocks, WhatLiesDifferentlyInMemoryIsOnePart) {
  const Tensor x = torch::rand({120, 70, 3, 3});
  const Tensor y = x.contiguous(last).clone();
  in_blocks({x, y}, [](const std::vector<Tensor>& part) { part[1].sub_(part[0]); });
  EXPECT_EQ(y.abs().max().item<float>(), 0);
}

TEST(InBlocks, WeightsOfALossMayBeChanged) {
  const at::AutoGradMode gradients(true);
  const Tensor weight = torch::ones({40000}).requires_grad_();
  in_blocks({weight}, [](const std::vector<Tensor>& part) { part[0].mul_(2); });
  EXPECT_EQ(weight.sum().item<float>(), 80000);
  EXPECT_TRUE(weight.is_leaf());
}

TEST(InBlocks, AStepHasTheSameBytesForAnyNumberOfThreads) {
  expect_same(after_adam(several_blocks(), 8), after_adam(several_blocks(), 1));
}

TEST(InBlocks, AStepIsThatOfEachElementAlone) {
  const Weights together = after_adam(several_blocks(), 2);
  Weights in_rows = several_blocks();
  for (std::int64_t row = 0; row < in_rows.weight.size(0); ++row) {
    const auto part = [row](const Tensor& tensor) { return tensor[row]; };
    after_adam(
        {part(in_rows.weight), part(in_rows.gradient), part(in_rows.mean), part(in_rows.square)},
        1);
  }
  expect_same(together, in_rows);
}

TEST(InBlocks, AStepAlongAGradientInAnotherOrderIsTheSame) {
  Weights other = several_blocks();
  other.gradient = other.gradient.contiguous();
  expect_same(after_adam(other, 2), after_adam(several_blocks(), 2));
}

TEST(InBlocks, SgdsStepIsThatOfEachElementAlone) {
  const Weights start = several_blocks();
  const SgdSettings settings{.rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
  const Tensor weight = start.weight.clone();
  const Tensor velocity = start.mean.clone();
  sgd_step(weight, start.gradient, velocity, settings);
  for (std::int64_t row = 0; row < start.weight.size(0); ++row) {
    sgd_step(start.weight[row], start.gradient[row], start.mean[row], settings);
  }
  EXPECT_TRUE(torch::equal(weight, start.weight));
  EXPECT_TRUE(torch::equal(velocity, start.mean));
}

}  // namespace
}  // namespace seam::stages
