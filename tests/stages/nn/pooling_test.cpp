#include "stages/nn/pooling.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/stages/nn/network_properties.hpp"

namespace seam::nn::pooling_test {

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

TEST(GlobalPooling, WithoutPoolingThePixelsOfAChannelAreSideBySide) {
  const Tensor map = random_map(3, 4, 5, 2);
  const Tensor flat =
      GlobalPooling(Pooling::none)(map.contiguous(torch::MemoryFormat::ChannelsLast));
  ASSERT_EQ(flat.sizes(), (std::vector<std::int64_t>{3, 40}));
  EXPECT_EQ(flat[2][3 * 10 + 4 * 2 + 1].item<double>(), map[2][3][4][1].item<double>());
}

TEST(GlobalPooling, EqualsLoopsInAllItsForms) {
  // The second has more elements than LibTorch computes on one thread.
  for (const Tensor& map : {random_map(3, 4, 5, 2), random_map(3, 40, 31, 33)}) {
    for (const Pooling pooling : {Pooling::average, Pooling::generalised_mean,
                                  Pooling::generalised_mean_by_channel, Pooling::maximum}) {
      GlobalPooling pool(pooling, map.size(1));
      pool->to(torch::kFloat64);
      std::vector<double> p(static_cast<std::size_t>(map.size(1)), 3);
      if (pooling == Pooling::generalised_mean_by_channel) {
        const torch::NoGradGuard no_gradient;
        for (std::size_t at = 0; at < p.size(); ++at) p[at] = 0.5 + 0.1 * static_cast<double>(at);
        pool->named_parameters()["p"].copy_(torch::tensor(p, torch::kFloat64));
      }
      EXPECT_TRUE(torch::allclose(pool(map), by_loops(map, pooling, p), 0, 1e-12));
    }
  }
}

TEST(GlobalPooling, GradientsAreThoseOfFiniteDifferences) {
  for (const Pooling pooling :
       {Pooling::generalised_mean, Pooling::generalised_mean_by_channel, Pooling::maximum}) {
    GlobalPooling pool(pooling, 3);
    pool->to(torch::kFloat64);
    const Tensor map = random_map(2, 3, 4, 3).requires_grad_();
    test::expect_gradients([&] { return pool(map).square().sum(); },
                           test::with_weights({map}, *pool));
  }
}

TEST(GlobalPooling, GeneralisedMeanIsThePapers) {
  GlobalPooling pool(Pooling::generalised_mean);
  const Tensor map = torch::tensor({1.0, 2.0, 3.0, -4.0}).view({1, 1, 2, 2});
  EXPECT_NEAR(pool(map).item<double>(), std::cbrt((1.0 + 8 + 27) / 4), 1e-5);
}

}  // namespace seam::nn::pooling_test
