#include "stages/model/spatial_group_enhance.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/refusal_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <vector>

#include "tests/stages/nn/network_properties.hpp"

namespace seam::stages::spatial_group_enhance_test {

Packet batch(std::int64_t images) {
  torch::manual_seed(1);
  Packet packet;
  packet.set(field::feature_map, torch::rand({images, 8, 4, 3}));
  return packet;
}

const auto conformance = seam::testing::conformance<SpatialGroupEnhance>({
    .parameters = {{"channels", std::int64_t{8}}, {"groups", std::int64_t{4}}},
    .packets =
        [](testing::Harness&) {
          return std::vector<Packet>{batch(5), batch(3)};
        },
    .refused = {{{"groups", std::int64_t{3}}}},
    .without_effect = {{"precision", "nothing that it computes is done in bfloat16"}},
});

Tensor random_map(const std::vector<std::int64_t>& sizes) {
  torch::manual_seed(2);
  return torch::randn(sizes, torch::kFloat64);
}

/// So that no parameter is 0 or 1.
void randomise(nn::SpatialGroupEnhance& net) {
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
  nn::SpatialGroupEnhance net(6, 3);
  randomise(net);
  const Tensor map = random_map({2, 6, 3, 4});
  const auto parameters = net->named_parameters();
  EXPECT_TRUE(torch::allclose(
      net(map), enhanced_by_loops(map, 3, parameters["weight"], parameters["bias"]), 0, 1e-11));
}

TEST(SpatialGroupEnhance, BeginsWithTheSameGateEverywhere) {
  nn::SpatialGroupEnhance net(8, 4);
  const Tensor map = random_map({2, 8, 3, 3}).to(torch::kFloat32);
  EXPECT_TRUE(torch::allclose(net(map), map / (1 + std::exp(-1.0))));
  EXPECT_EQ(net->parameters()[0].numel() + net->parameters()[1].numel(), 8);
}

TEST(SpatialGroupEnhance, GradientsAreThoseOfFiniteDifferences) {
  nn::SpatialGroupEnhance net(4, 2);
  randomise(net);
  const Tensor map = random_map({3, 4, 3, 2}).requires_grad_();
  test::expect_gradients([&] { return net(map).square().sum(); }, test::with_weights({map}, *net));
}

TEST(SpatialGroupEnhance, WhatDoesNotFitIsRefused) {
  EXPECT_REFUSED(nn::SpatialGroupEnhance(6, 4), Fault::configuration,
                 "6 channels cannot be divided into 4 groups");
  EXPECT_REFUSED(nn::SpatialGroupEnhance(0, 1), Fault::configuration,
                 "0 channels cannot be divided into 1 groups");
  nn::SpatialGroupEnhance net(6, 3);
  EXPECT_REFUSED((void)net(torch::rand({2, 5, 3, 3})), Fault::configuration,
                 "the feature map is [2, 5, 3, 3]");
  EXPECT_REFUSED((void)net(torch::rand({2, 6, 1, 1})), Fault::configuration,
                 "a feature map of one pixel");
}

TEST(SpatialGroupEnhance, HasTheSameBytesForAnyNumberOfThreads) {
  const auto make = [] {
    const torch::NoGradGuard no_gradient;
    nn::SpatialGroupEnhance net(64, 16);
    for (Tensor& parameter : net->parameters()) parameter.normal_();
    return net;
  };
  torch::manual_seed(5);
  test::expect_same_bytes_for_any_threads(
      make, {torch::randn({19, 64, 9, 7}).requires_grad_()},
      [](nn::SpatialGroupEnhance& net, const std::vector<Tensor>& inputs) {
        return std::vector<Tensor>{net(inputs[0])};
      });
}

}  // namespace seam::stages::spatial_group_enhance_test
