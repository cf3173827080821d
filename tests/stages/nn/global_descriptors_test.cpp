#include "stages/nn/global_descriptors.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/error.hpp>
#include <seam/refusal_testing.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn {
namespace global_descriptors_test {

using torch::Tensor;

constexpr double least = 1e-6;

/// Pixel by pixel; `p` of each channel, for the generalised means.
Tensor by_loops(const Tensor& map, Pooling pooling, const std::vector<double>& p) {
  Tensor result = torch::empty({map.size(0), map.size(1)}, torch::kFloat64);
  const auto values = map.accessor<double, 4>();
  for (std::int64_t n = 0; n < map.size(0); ++n) {
    for (std::int64_t c = 0; c < map.size(1); ++c) {
      double sum = 0;
      double powers = 0;
      double most = -std::numeric_limits<double>::infinity();
      const double power = p[static_cast<std::size_t>(c)];
      for (std::int64_t y = 0; y < map.size(2); ++y) {
        for (std::int64_t x = 0; x < map.size(3); ++x) {
          const double value = values[n][c][y][x];
          sum += value;
          powers += std::pow(std::max(value, least), power);
          most = std::max(most, value);
        }
      }
      const auto pixels = static_cast<double>(map.size(2) * map.size(3));
      double pooled = std::pow(powers / pixels, 1 / power);
      if (pooling == Pooling::average) pooled = sum / pixels;
      if (pooling == Pooling::maximum) pooled = most;
      result[n][c] = pooled;
    }
  }
  return result;
}

Tensor random_map(std::int64_t images, std::int64_t channels, std::int64_t height,
                  std::int64_t width) {
  torch::manual_seed(2);
  return torch::rand({images, channels, height, width}, torch::kFloat64);
}

TEST(GlobalPooling, EqualsLoopsInAllItsForms) {
  const Tensor map = random_map(3, 4, 5, 2);
  for (const Pooling pooling : {Pooling::average, Pooling::generalised_mean,
                                Pooling::generalised_mean_by_channel, Pooling::maximum}) {
    GlobalPooling pool(pooling, 4);
    pool->to(torch::kFloat64);
    std::vector<double> p(4, 3);
    if (pooling == Pooling::generalised_mean_by_channel) {
      const torch::NoGradGuard no_gradient;
      p = {1, 2.5, 4, 0.5};
      pool->named_parameters()["p"].copy_(torch::tensor(p, torch::kFloat64));
    }
    EXPECT_TRUE(torch::allclose(pool(map), by_loops(map, pooling, p), 0, 1e-12));
  }
}

TEST(GlobalPooling, PowersByChannelAreThoseOfTheirChannelInEveryPart) {
  // More elements than LibTorch computes on one thread.
  constexpr std::int64_t channels = 40;
  const Tensor map = random_map(3, channels, 31, 33);
  GlobalPooling pool(Pooling::generalised_mean_by_channel, channels);
  pool->to(torch::kFloat64);
  std::vector<double> p;
  for (std::int64_t at = 0; at < channels; ++at) p.push_back(1 + 0.1 * static_cast<double>(at));
  {
    const torch::NoGradGuard no_gradient;
    pool->named_parameters()["p"].copy_(torch::tensor(p, torch::kFloat64));
  }
  EXPECT_TRUE(
      torch::allclose(pool(map), by_loops(map, Pooling::generalised_mean_by_channel, p), 0, 1e-12));
}

TEST(GlobalPooling, GradientsAreThoseOfFiniteDifferences) {
  for (const Pooling pooling :
       {Pooling::generalised_mean, Pooling::generalised_mean_by_channel, Pooling::maximum}) {
    GlobalPooling pool(pooling, 3);
    pool->to(torch::kFloat64);
    std::vector<Tensor> inputs{random_map(2, 3, 4, 3).requires_grad_(true)};
    for (const Tensor& parameter : pool->parameters()) inputs.push_back(parameter);
    test::expect_gradients([&] { return pool(inputs[0]).square().sum(); }, inputs);
  }
}

GlobalDescriptorsOptions options() {
  GlobalDescriptorsOptions options;
  options.channels = 6;
  options.descriptors = {Pooling::generalised_mean, Pooling::average, Pooling::maximum};
  options.dimensions = 4;
  options.classes = 5;
  return options;
}

TEST(GlobalDescriptors, AreUnitVectorsSideBySide) {
  torch::manual_seed(1);
  GlobalDescriptors net(options());
  net->eval();
  const Tensor map = torch::rand({2, 6, 3, 3});
  const DescriptorsOutput output = net(map);
  EXPECT_EQ(output.embedding.sizes(), (std::vector<std::int64_t>{2, 12}));
  EXPECT_EQ(output.logits.sizes(), (std::vector<std::int64_t>{2, 5}));
  EXPECT_TRUE(torch::allclose(output.embedding.norm(2, 1), torch::ones({2})));
  const auto parameters = net->named_parameters();
  const std::vector<Tensor> pooled{map.clamp_min(least).pow(3).mean({2, 3}).pow(1.0 / 3),
                                   map.mean({2, 3}), map.amax({2, 3})};
  for (std::size_t at = 0; at < pooled.size(); ++at) {
    const Tensor projected =
        pooled[at].matmul(parameters["projection" + std::to_string(at + 1) + ".weight"].t());
    const Tensor expected = projected / projected.norm(2, 1, true) / std::sqrt(3.0);
    EXPECT_TRUE(torch::allclose(output.embedding.narrow(1, static_cast<std::int64_t>(at) * 4, 4),
                                expected, 1e-4, 1e-6));
  }
  // In evaluation, batch normalisation with the initial statistics has almost no effect.
  EXPECT_TRUE(torch::allclose(output.logits,
                              pooled[0].matmul(parameters["fc.weight"].t()) + parameters["fc.bias"],
                              1e-3, 1e-4));
}

TEST(GlobalDescriptors, AreUnitVectorsAloneWhereAskedFor) {
  GlobalDescriptorsOptions together;
  together.channels = 6;
  together.descriptors = {Pooling::average, Pooling::maximum, Pooling::average};
  GlobalDescriptorsOptions each = together;
  each.unit_length = UnitLength::each;
  torch::manual_seed(4);
  const Tensor map = torch::rand({5, 6, 3, 3});
  const Tensor embedding = GlobalDescriptors(each)(map).embedding;
  EXPECT_TRUE(torch::allclose(embedding.view({5, 3, 6}).norm(2, 2), torch::ones({5, 3})));
  EXPECT_TRUE(torch::allclose(embedding, GlobalDescriptors(together)(map).embedding * std::sqrt(3),
                              1e-5, 1e-6));
}

TEST(GlobalDescriptors, WithoutProjectionAndClassesHaveNoWeights) {
  GlobalDescriptorsOptions bare;
  bare.channels = 6;
  bare.descriptors = {Pooling::average, Pooling::maximum};
  GlobalDescriptors net(bare);
  EXPECT_TRUE(net->parameters().empty());
  const DescriptorsOutput output = net(torch::rand({2, 6, 3, 3}));
  EXPECT_EQ(output.embedding.size(1), bare.length());
  EXPECT_FALSE(output.logits.defined());
}

TEST(GlobalDescriptors, WhatDoesNotFitIsRefused) {
  GlobalDescriptorsOptions none = options();
  none.descriptors.clear();
  EXPECT_REFUSED(GlobalDescriptors{none}, Fault::configuration, "at least one descriptor");
  GlobalDescriptors net(options());
  EXPECT_REFUSED((void)net(torch::rand({2, 5, 3, 3})), Fault::configuration,
                 "the feature map is [2, 5, 3, 3]");
  EXPECT_REFUSED((void)net(torch::rand({2, 6})), Fault::configuration, "the feature map is [2, 6]");
}

TEST(GlobalDescriptors, HaveTheSameBytesForAnyNumberOfThreads) {
  const torch::AutoGradMode gradients(true);
  GlobalDescriptorsOptions all = options();
  all.channels = 256;
  all.dimensions = 96;
  all.classes = 101;
  all.descriptors = {Pooling::average, Pooling::generalised_mean,
                     Pooling::generalised_mean_by_channel, Pooling::maximum};
  torch::manual_seed(3);
  GlobalDescriptors net(all);
  const Tensor values = torch::rand({37, 256, 7, 5});
  std::vector<std::vector<Tensor>> results;
  for (const int count : {1, 2, 3, 5, 8}) {
    const test::Threads threads(count);
    net->zero_grad();
    const Tensor map = values.clone().requires_grad_(true);
    const DescriptorsOutput output = net(map);
    (output.embedding.pow(3).sum() + output.logits.pow(2).sum()).backward();
    std::vector<Tensor> result{output.embedding, output.logits, map.grad()};
    for (const Tensor& parameter : net->parameters()) result.push_back(parameter.grad().clone());
    results.push_back(result);
  }
  for (const std::vector<Tensor>& result : results) {
    for (std::size_t at = 0; at < result.size(); ++at) {
      EXPECT_TRUE(torch::equal(result[at], results[0][at])) << "number " << at;
    }
  }
}

}  // namespace global_descriptors_test
}  // namespace seam::nn
