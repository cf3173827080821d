#include "stages/nn/concat_module.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace concat_module_test {

using torch::Tensor;

ConcatModuleOptions options(Classified classified = Classified::together) {
  ConcatModuleOptions options;
  options.classified = classified;
  options.width = classified == Classified::together ? 9 : 0;
  options.capsules = 3;
  options.capsule_size = 4;
  options.bottleneck = 6;
  options.classes = 5;
  return options;
}

/// Batch normalisation in training, column by column.
Tensor normalised(const Tensor& rows) {
  Tensor result = rows.clone();
  for (std::int64_t c = 0; c < rows.size(1); ++c) {
    const Tensor column = rows.select(1, c);
    const Tensor mean = column.mean();
    const Tensor variance = (column - mean).square().mean();
    result.select(1, c).copy_((column - mean) / (variance + 1e-5).sqrt());
  }
  return result;
}

TEST(ConcatModule, IsTheHeadOfItsDescription) {
  const torch::NoGradGuard no_gradient;
  for (const Classified classified : {Classified::together, Classified::capsules}) {
    torch::manual_seed(1);
    ConcatModule net(options(classified));
    net->to(torch::kFloat64);
    const Tensor capsules = torch::randn({7, 3, 4}, torch::kFloat64);
    const Tensor descriptors = torch::randn({7, 9}, torch::kFloat64);
    const bool together = classified == Classified::together;
    const ConcatModuleOutput output = net(together ? descriptors : Tensor(), capsules);
    Tensor all = capsules.reshape({7, 12});
    if (together) {
      all = torch::cat({descriptors, all}, 1);
      EXPECT_TRUE(torch::allclose(output.embedding, all / all.norm(2, 1, true), 0, 1e-12));
    } else {
      EXPECT_FALSE(output.embedding.defined());
    }
    const auto parameters = net->named_parameters();
    const Tensor hidden = normalised(all).matmul(parameters["fc1.weight"].t());
    const Tensor logits = normalised(hidden).matmul(parameters["fc2.weight"].t());
    EXPECT_TRUE(torch::allclose(output.logits, logits, 0, 1e-10));
  }
}

// A direct classifier of the paper's 10,517 items would have 66.6 million weights.
TEST(ConcatModule, HasTheSizesOfThePaper) {
  ConcatModuleOptions published;
  published.width = 3 * 2048;
  published.classes = 10517;
  EXPECT_EQ(published.length(), 6336);
  torch::manual_seed(1);
  const ConcatModule net(published);
  const auto parameters = net->named_parameters();
  EXPECT_EQ(parameters["fc1.weight"].numel() + parameters["fc2.weight"].numel(),
            512 * (6336 + 10517));
  EXPECT_NEAR(parameters["fc1.weight"].std().item<double>(), std::sqrt(2.0 / 6336), 1e-4);
  EXPECT_EQ(parameters["fc2.bias"].abs().max().item<double>(), 0);
}

TEST(ConcatModule, GradientsAreThoseOfFiniteDifferences) {
  const test::Threads alone(1);  // many small passes
  ConcatModule net(options());
  net->to(torch::kFloat64);
  torch::manual_seed(3);
  std::vector<Tensor> inputs{torch::randn({6, 9}, torch::kFloat64).requires_grad_(true),
                             torch::randn({6, 3, 4}, torch::kFloat64).requires_grad_(true)};
  for (const Tensor& parameter : net->parameters()) inputs.push_back(parameter);
  test::expect_gradients(
      [&] {
        const ConcatModuleOutput output = net(inputs[0], inputs[1]);
        return output.embedding.pow(3).sum() + output.logits.square().sum();
      },
      inputs);
}

TEST(ConcatModule, WhatDoesNotFitIsRefused) {
  ConcatModuleOptions none = options();
  none.classes = 0;
  EXPECT_REFUSED(ConcatModule{none}, Fault::configuration, "must be at least 1");
  none = options();
  none.width = 0;
  EXPECT_REFUSED(ConcatModule{none}, Fault::configuration, "must be at least 1");
  ConcatModule net(options());
  EXPECT_REFUSED((void)net(torch::rand({2, 8}), torch::rand({2, 3, 4})), Fault::configuration,
                 "not [2, 3, 4] and [2, 8]");
  EXPECT_REFUSED((void)net(torch::rand({2, 9}), torch::rand({2, 4, 3})), Fault::configuration,
                 "not [2, 4, 3] and [2, 9]");
  EXPECT_REFUSED((void)net(torch::rand({2, 9}), torch::rand({3, 3, 4})), Fault::configuration,
                 "not [3, 3, 4] and [2, 9]");
}

TEST(ConcatModule, HasTheSameBytesForAnyNumberOfThreads) {
  const torch::AutoGradMode gradients(true);
  ConcatModuleOptions large = options();
  large.width = 768;
  large.capsules = 12;
  large.capsule_size = 16;
  large.bottleneck = 128;
  large.classes = 301;
  torch::manual_seed(3);
  ConcatModule net(large);
  const Tensor descriptors = torch::randn({37, 768});
  const Tensor capsules = torch::randn({37, 12, 16});
  std::vector<std::vector<Tensor>> results;
  for (const int count : {1, 2, 3, 5, 8}) {
    const test::Threads threads(count);
    net->zero_grad();
    const Tensor a = descriptors.clone().requires_grad_(true);
    const Tensor b = capsules.clone().requires_grad_(true);
    const ConcatModuleOutput output = net(a, b);
    (output.embedding.pow(3).sum() + output.logits.square().sum()).backward();
    std::vector<Tensor> result{output.embedding, output.logits, a.grad(), b.grad()};
    for (const Tensor& parameter : net->parameters()) result.push_back(parameter.grad().clone());
    results.push_back(result);
  }
  for (const std::vector<Tensor>& result : results) {
    for (std::size_t at = 0; at < result.size(); ++at) {
      EXPECT_TRUE(torch::equal(result[at], results[0][at])) << "number " << at;
    }
  }
}

}  // namespace concat_module_test
}  // namespace seam::nn
