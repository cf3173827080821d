#include "stages/nn/spatial_group_enhance.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

#include <cmath>
#include <vector>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace spatial_group_enhance_test {

using torch::Tensor;

Tensor random_map(const std::vector<std::int64_t>& sizes) {
  torch::manual_seed(2);
  return torch::randn(sizes, torch::kFloat64);
}

/// So that no parameter is 0 or 1.
template <class Module>
void randomise(Module& net) {
  const torch::NoGradGuard no_gradient;
  net->to(torch::kFloat64);
  for (Tensor& parameter : net->parameters()) parameter.normal_(0, 0.7);
}

/// Pixel by pixel, group by group.
Tensor enhanced_by_loops(const Tensor& map, std::int64_t groups, const Tensor& weight,
                         const Tensor& bias) {
  Tensor result = map.clone();
  const std::int64_t size = map.size(1) / groups;
  const std::int64_t pixels = map.size(2) * map.size(3);
  for (std::int64_t n = 0; n < map.size(0); ++n) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const Tensor x = map[n].narrow(0, g * size, size).reshape({size, pixels});
      std::vector<double> t(static_cast<std::size_t>(pixels));
      double mean = 0;
      for (std::int64_t i = 0; i < pixels; ++i) {
        for (std::int64_t c = 0; c < size; ++c) {
          t[static_cast<std::size_t>(i)] += x[c][i].item<double>() * x[c].mean().item<double>();
        }
        mean += t[static_cast<std::size_t>(i)] / static_cast<double>(pixels);
      }
      double squares = 0;
      for (const double value : t) squares += (value - mean) * (value - mean);
      const double deviation = std::sqrt(squares / static_cast<double>(pixels - 1));
      for (std::int64_t i = 0; i < pixels; ++i) {
        const double z = (t[static_cast<std::size_t>(i)] - mean) / (deviation + 1e-5);
        const double gate = 1 / (1 + std::exp(-(weight.view(-1)[g].item<double>() * z +
                                                bias.view(-1)[g].item<double>())));
        for (std::int64_t c = 0; c < size; ++c) {
          result[n][g * size + c][i / map.size(3)][i % map.size(3)] *= gate;
        }
      }
    }
  }
  return result;
}

TEST(SpatialGroupEnhance, EqualsLoops) {
  SpatialGroupEnhance net(6, 3);
  randomise(net);
  const Tensor map = random_map({2, 6, 3, 4});
  const auto parameters = net->named_parameters();
  EXPECT_TRUE(torch::allclose(
      net(map), enhanced_by_loops(map, 3, parameters["weight"], parameters["bias"]), 0, 1e-11));
}

TEST(SpatialGroupEnhance, BeginsWithTheSameGateEverywhere) {
  SpatialGroupEnhance net(8, 4);
  const Tensor map = random_map({2, 8, 3, 3}).to(torch::kFloat32);
  EXPECT_TRUE(torch::allclose(net(map), map / (1 + std::exp(-1.0))));
  EXPECT_EQ(net->parameters()[0].numel() + net->parameters()[1].numel(), 8);
}

TEST(SpatialGroupEnhance, GradientsAreThoseOfFiniteDifferences) {
  SpatialGroupEnhance net(4, 2);
  randomise(net);
  std::vector<Tensor> inputs{random_map({3, 4, 3, 2}).requires_grad_(true)};
  for (const Tensor& parameter : net->parameters()) inputs.push_back(parameter);
  test::expect_gradients([&] { return net(inputs[0]).square().sum(); }, inputs);
}

TEST(SpatialGroupEnhance, WhatDoesNotFitIsRefused) {
  EXPECT_REFUSED(SpatialGroupEnhance(6, 4), Fault::configuration,
                 "6 channels cannot be divided into 4 groups");
  EXPECT_REFUSED(SpatialGroupEnhance(0, 1), Fault::configuration,
                 "0 channels cannot be divided into 1 groups");
  SpatialGroupEnhance net(6, 3);
  EXPECT_REFUSED((void)net(torch::rand({2, 5, 3, 3})), Fault::configuration,
                 "the feature map is [2, 5, 3, 3]");
  EXPECT_REFUSED((void)net(torch::rand({2, 6, 1, 1})), Fault::configuration,
                 "a feature map of one pixel");
}

TEST(SpatialGroupEnhance, HasTheSameBytesForAnyNumberOfThreads) {
  const torch::AutoGradMode gradients(true);
  torch::manual_seed(5);
  const Tensor values = torch::randn({19, 64, 9, 7});
  SpatialGroupEnhance net(64, 16);
  {
    const torch::NoGradGuard no_gradient;
    for (Tensor& parameter : net->parameters()) parameter.normal_();
  }
  std::vector<std::vector<Tensor>> results;
  for (const int count : {1, 2, 3, 5, 8}) {
    const test::Threads threads(count);
    net->zero_grad();
    const Tensor map = values.clone().requires_grad_(true);
    const Tensor output = net(map);
    output.pow(3).sum().backward();
    std::vector<Tensor> result{output, map.grad()};
    for (const Tensor& parameter : net->parameters()) result.push_back(parameter.grad().clone());
    results.push_back(result);
  }
  for (const std::vector<Tensor>& result : results) {
    for (std::size_t at = 0; at < result.size(); ++at) {
      EXPECT_TRUE(torch::equal(result[at], results[0][at])) << "number " << at;
    }
  }
}

}  // namespace spatial_group_enhance_test
}  // namespace seam::nn
