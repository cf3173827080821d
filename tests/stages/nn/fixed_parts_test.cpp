#include "stages/nn/fixed_parts.hpp"

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/counting_allocator.hpp>
#include <seam/error.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "stages/cpu/grain.hpp"
#include "tests/support/matchers.hpp"

namespace seam::nn::fixed_parts_test {

using torch::Tensor;

/// A different result for each row, which depends on every element of the weight.
Tensor scaled(const Tensor& x, const Tensor& weight) {
  return x * weight.view({1, -1, 1, 1}).exp() + x.mean({2, 3}, /*keepdim=*/true);
}

TEST(InParts, NoMoreThanAskedForAndEveryRowOnce) {
  for (const std::int64_t most : {1, 3, 8}) {
    for (const std::int64_t rows : {1, 7, 8, 9, 19}) {
      std::vector<std::int64_t> seen(rows);
      const std::int64_t parts =
          in_parts(rows, most, [&](std::int64_t /*part*/, std::int64_t first, std::int64_t count) {
            for (std::int64_t row = first; row < first + count; ++row) ++seen.at(row);
          });
      EXPECT_LE(parts, most);
      EXPECT_GE(parts, std::min(rows, most) / 2 + 1) << rows << " rows, " << most;
      EXPECT_THAT(seen, ::testing::Each(1)) << rows << " rows";
    }
  }
}

TEST(PartsFor, OneForEachGrainUpToEight) {
  const std::int64_t grain = stages::grain(262144);
  EXPECT_EQ(parts_for(0), 1);
  EXPECT_EQ(parts_for(grain), 1);
  EXPECT_EQ(parts_for(3 * grain), 3);
  EXPECT_EQ(parts_for(100 * grain), most_parts);
}

TEST(Joined, KeepsTheOrderOfPixelsInMemory) {
  const Tensor batch = torch::rand({5, 4, 3, 2}).contiguous(torch::MemoryFormat::ChannelsLast);
  Joined joined(5);
  joined.put(3, batch.narrow(0, 3, 2));
  joined.put(0, batch.narrow(0, 0, 3));
  EXPECT_TRUE(torch::equal(joined.whole(), batch));
  EXPECT_THAT(joined.whole().strides(), ElementsAre(24, 1, 8, 4));
}

class ByParts : public ::testing::TestWithParam<Between> {};

TEST_P(ByParts, EqualsTheFunctionItselfWithItsGradients) {
  const at::AutoGradMode gradients(true);
  for (const std::int64_t rows : {1, 3, 11}) {
    const Tensor x = torch::rand({rows, 4, 3, 2}, torch::kFloat64)
                         .contiguous(torch::MemoryFormat::ChannelsLast)
                         .requires_grad_();
    const Tensor weight = torch::rand({4}, torch::kFloat64).requires_grad_();
    const Tensor whole = scaled(x, weight);
    const Tensor in_parts = by_parts(x, weight, scaled, GetParam());
    EXPECT_TRUE(torch::allclose(in_parts, whole, 1e-12, 1e-12));
    const Tensor factor = torch::rand_like(whole);
    const auto expected = torch::autograd::grad({(whole * factor).sum()}, {x, weight});
    const auto found = torch::autograd::grad({(in_parts * factor).sum()}, {x, weight});
    EXPECT_TRUE(torch::allclose(found[0], expected[0], 1e-12, 1e-12));
    EXPECT_TRUE(torch::allclose(found[1], expected[1], 1e-12, 1e-12));
  }
}

/// Its argument squared.
Tensor squared(const Tensor& rows, const Tensor& weight) {
  EXPECT_FALSE(weight.defined());
  return rows * rows;
}

TEST_P(ByParts, AFunctionWithoutAWeightIsGivenNone) {
  const at::AutoGradMode gradients(true);
  const Tensor x = torch::rand({9, 2}).requires_grad_();
  by_parts(x, {}, squared, GetParam()).sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), 2 * x.detach()));
}

TEST_P(ByParts, CallsTheFunctionAgainOnlyWhereNothingIsKept) {
  const at::AutoGradMode gradients(true);
  std::atomic<int> calls{0};
  const auto token = std::make_shared<int>(0);
  const Tensor x = torch::rand({9, 2}).requires_grad_();  // five parts
  const int again = GetParam() == Between::kept ? 0 : 5;
  {
    const Tensor sum = by_parts(
                           x, {},
                           [&calls, token](const Tensor& rows, const Tensor& weight) {
                             ++calls;
                             return squared(rows, weight);
                           },
                           GetParam())
                           .sum();
    EXPECT_EQ(calls, 5);
    const Tensor once = torch::autograd::grad({sum}, {x}, {}, /*retain_graph=*/true)[0];
    EXPECT_EQ(calls, 5 + again);
    EXPECT_TRUE(torch::equal(once, 2 * x.detach()));
    EXPECT_TRUE(torch::equal(torch::autograd::grad({sum}, {x})[0], once));
    EXPECT_EQ(calls, 10 + again);
  }
  EXPECT_EQ(token.use_count(), 1) << "the function outlives the graph";
}

TEST_P(ByParts, OnlyTheWeightMayBeTrainedOrOnlyX) {
  const at::AutoGradMode gradients(true);
  const Tensor x = torch::rand({3, 4, 3, 2});
  const Tensor weight = torch::rand({4}).requires_grad_();
  by_parts(x, weight, scaled, GetParam()).sum().backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(torch::allclose(weight.grad(), weight.detach().exp() * x.sum({0, 2, 3})));
  const Tensor trained = x.clone().requires_grad_();
  by_parts(trained, weight.detach(), scaled, GetParam()).sum().backward();
  EXPECT_TRUE(trained.grad().defined());
}

TEST_P(ByParts, TheResultOfOneRowMayBeChangedInPlace) {
  const at::AutoGradMode gradients(true);
  const Tensor x = torch::zeros({1, 2}).requires_grad_();
  const auto f = [](const Tensor& rows, const Tensor&) { return rows.exp(); };
  by_parts(x, {}, f, GetParam()).mul_(3).sum().backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::full({1, 2}, 3.0)));
}

TEST_P(ByParts, AGradientOfTheGradientIsRefused) {
  const at::AutoGradMode gradients(true);
  const Tensor x = torch::rand({9, 2}).requires_grad_();
  const Tensor sum = by_parts(x, {}, squared, GetParam()).sum();
  EXPECT_REFUSED(
      torch::autograd::grad({sum}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true),
      Fault::internal, "this operation has no gradient of its gradient");
}

TEST_P(ByParts, WithoutGradientsNothingIsKept) {
  const torch::NoGradGuard no_gradient;
  const auto f = [](const Tensor& rows, const Tensor& weight) {
    Tensor result = squared(rows, weight);
    EXPECT_FALSE(result.requires_grad());
    return result;
  };
  EXPECT_FALSE(by_parts(torch::rand({9, 2}).requires_grad_(), {}, f, GetParam()).requires_grad());
}

/// Memory that the forward pass leaves for the backward pass, with this number of threads.
std::int64_t kept_bytes(int threads, const Tensor& x) {
  at::set_num_threads(threads);
  std::mutex mutex;
  std::set<std::thread::id> workers;
  const std::int64_t before = tensor_memory::take().compute.now;
  const Tensor result = by_parts(
      x, {},
      [&](const Tensor& rows, const Tensor&) {
        const std::lock_guard lock(mutex);
        workers.insert(std::this_thread::get_id());
        return rows.tanh().square();  // keeps one tensor, the result of tanh()
      },
      Between::kept);
  const std::int64_t kept = tensor_memory::take().compute.now - before;
  EXPECT_EQ(workers.size(), static_cast<std::size_t>(threads));
  return kept;
}

TEST(ByPartsMemory, IsCountedOnAllThreads) {
  detail::count_tensor_memory();
  const at::AutoGradMode gradients(true);
  const int threads = at::get_num_threads();
  const Tensor x = torch::rand({64, 4, 32, 32}).requires_grad_();
  const auto result_and_kept = static_cast<std::int64_t>(2 * x.nbytes());
  EXPECT_EQ(kept_bytes(1, x), result_and_kept);
  EXPECT_EQ(kept_bytes(2, x), result_and_kept);
  at::set_num_threads(threads);
}

INSTANTIATE_TEST_SUITE_P(Graphs, ByParts, ::testing::Values(Between::kept, Between::recomputed),
                         [](const auto& tested) {
                           return tested.param == Between::kept ? "kept" : "recomputed";
                         });

}  // namespace seam::nn::fixed_parts_test
