#include "stages/train/blocks.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <atomic>
#include <vector>

#include "stages/train/adam.hpp"
#include "stages/train/sgd.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages::blocks_test {

constexpr auto last = torch::MemoryFormat::ChannelsLast;

/// A weight of several blocks, a gradient, and moments after some steps.
struct Weights {
  Tensor weight, gradient, mean, square, largest_square;
};

Weights several_blocks(torch::ScalarType type = torch::kFloat32) {
  torch::manual_seed(4);
  const auto random = [type] { return torch::rand({120, 70, 3, 3}).to(type).contiguous(last); };
  return {random(), random() - 0.5, random() - 0.5, random(), random()};
}

Weights after_adam(Weights weights, int threads, EpsilonForm form = EpsilonForm::pytorch) {
  const test::Threads scope(threads);
  AdamSettings settings;
  settings.weight_decay = 0.01;
  settings.epsilon_form = form;
  adam_step(weights.weight, weights.gradient, weights.mean, weights.square, 3, settings,
            weights.largest_square);
  return weights;
}

Weights row_of(const Weights& weights, std::int64_t row) {
  const auto part = [row](const Tensor& tensor) { return tensor.defined() ? tensor[row] : tensor; };
  return {part(weights.weight), part(weights.gradient), part(weights.mean), part(weights.square),
          part(weights.largest_square)};
}

void expect_same(const Weights& found, const Weights& expected) {
  EXPECT_TRUE(torch::equal(found.weight, expected.weight));
  EXPECT_TRUE(torch::equal(found.mean, expected.mean));
  EXPECT_TRUE(torch::equal(found.square, expected.square));
  ASSERT_EQ(found.largest_square.defined(), expected.largest_square.defined());
  if (found.largest_square.defined()) {
    EXPECT_TRUE(torch::equal(found.largest_square, expected.largest_square));
  }
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

TEST(InBlocks, SidesOfOneDoNotMatter) {
  const Tensor x = torch::zeros({200, 200, 1, 1});
  const Tensor y = torch::ones({200, 200, 1, 1}).as_strided({200, 200, 1, 1}, {200, 1, 200, 200});
  std::atomic<int> calls{0};
  in_blocks({x, y}, [&](const std::vector<Tensor>& part) {
    ++calls;
    part[0].add_(part[1]);
  });
  EXPECT_TRUE(torch::equal(x, y));
  EXPECT_GT(calls, 1);
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
  for (const auto type : {torch::kFloat32, torch::kFloat64, torch::kBFloat16}) {
    for (const EpsilonForm form : {EpsilonForm::pytorch, EpsilonForm::keras}) {
      for (const bool amsgrad : {false, true}) {
        const auto start = [&] {
          Weights weights = several_blocks(type);
          if (!amsgrad) weights.largest_square = Tensor();
          return weights;
        };
        const Weights in_rows = start();
        for (std::int64_t row = 0; row < in_rows.weight.size(0); ++row) {
          after_adam(row_of(in_rows, row), 1, form);
        }
        expect_same(after_adam(start(), 2, form), in_rows);
      }
    }
  }
}

TEST(InBlocks, AStepAlongAGradientInAnotherOrderIsTheSame) {
  Weights other = several_blocks();
  other.gradient = other.gradient.contiguous();
  expect_same(after_adam(other, 2), after_adam(several_blocks(), 2));
}

TEST(InBlocks, SgdsStepIsThatOfEachElementAlone) {
  for (const double momentum : {0.0, 0.9}) {
    const SgdSettings settings{
        .rate = 0.1, .momentum = momentum, .nesterov = momentum > 0, .weight_decay = 0.01};
    const auto step = [&](const Weights& weights) {
      sgd_step(weights.weight, weights.gradient, momentum > 0 ? weights.mean : Tensor(), settings);
    };
    const Weights together = several_blocks();
    step(together);
    const Weights in_rows = several_blocks();
    for (std::int64_t row = 0; row < in_rows.weight.size(0); ++row) step(row_of(in_rows, row));
    expect_same(together, in_rows);
  }
}

}  // namespace seam::stages::blocks_test
