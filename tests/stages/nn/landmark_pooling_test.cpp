#include "stages/nn/landmark_pooling.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

#include "tests/stages/nn/gradient_check.hpp"

namespace seam::nn::landmark_pooling_test {

using torch::Tensor;

/// Cell by cell.
Tensor slowly_pooled(const Tensor& map, const Tensor& places, const Tensor& visible,
                     const LandmarkRegion& region) {
  const std::int64_t side = region.grid * region.window;
  Tensor out = torch::zeros({map.size(0), places.size(1), map.size(1), region.grid, region.grid},
                            map.options());
  for (std::int64_t n = 0; n < map.size(0); ++n) {
    for (std::int64_t l = 0; l < places.size(1); ++l) {
      if (!visible[n][l].item<bool>()) continue;
      // Of all positions of the region, the one whose middle is nearest to the landmark.
      const auto first = [&](std::int64_t axis, std::int64_t size) {
        const double wanted = places[n][l][axis].item<double>() * static_cast<double>(size);
        std::int64_t best = 0;
        double nearest = std::numeric_limits<double>::infinity();
        for (std::int64_t at = -100; at < 100; ++at) {
          const double distance =
              std::abs(static_cast<double>(at) + static_cast<double>(side) / 2 - wanted);
          if (distance < nearest) {
            nearest = distance;
            best = at;
          }
        }
        return best;
      };
      const std::int64_t left = first(0, map.size(3));
      const std::int64_t top = first(1, map.size(2));
      for (std::int64_t c = 0; c < map.size(1); ++c) {
        for (std::int64_t part = 0; part < region.grid * region.grid; ++part) {
          double largest = -std::numeric_limits<double>::infinity();
          for (std::int64_t cell = 0; cell < region.window * region.window; ++cell) {
            const std::int64_t y = top + part / region.grid * region.window + cell / region.window;
            const std::int64_t x = left + part % region.grid * region.window + cell % region.window;
            if (y < 0 || x < 0 || y >= map.size(2) || x >= map.size(3)) continue;
            largest = std::max(largest, map[n][c][y][x].item<double>());
          }
          out[n][l][c][part / region.grid][part % region.grid] = std::isinf(largest) ? 0 : largest;
        }
      }
    }
  }
  return out;
}

TEST(LandmarkPooling, IsWhatCellByCellGives) {
  torch::manual_seed(1);
  const Tensor map = torch::randn({3, 4, 7, 5}, torch::kFloat64);  // negative numbers too
  const Tensor places = torch::rand({3, 8, 2}, torch::kFloat64) * 1.6 - 0.3;
  const Tensor visible = torch::rand({3, 8}) > 0.3;
  for (const LandmarkRegion& region :
       {LandmarkRegion{1, 1}, LandmarkRegion{2, 3}, LandmarkRegion{3, 1}, LandmarkRegion{1, 4}}) {
    const Tensor expected = slowly_pooled(map, places, visible, region);
    EXPECT_TRUE(landmark_pooling(map, places, visible, region).equal(expected))
        << region.grid << " " << region.window;
    const Tensor channels_last = map.contiguous(torch::MemoryFormat::ChannelsLast);
    EXPECT_TRUE(landmark_pooling(channels_last, places, visible, region).equal(expected));
  }
}

TEST(LandmarkPooling, APlaceFarAwayOrNoNumberHasNoFeatures) {
  const Tensor map = torch::ones({1, 2, 4, 4});
  const Tensor visible = torch::ones({1, 3}, torch::kBool);
  const Tensor places =
      torch::tensor({{{9.0, 0.5}, {0.5, -1e30}, {0.5, static_cast<double>(NAN)}}}, torch::kFloat32);
  const Tensor pooled = landmark_pooling(map, places, visible, {1, 2});
  EXPECT_EQ(pooled[0][0].sum().item<double>(), 0);
  EXPECT_EQ(pooled[0][1].sum().item<double>(), 0);
  EXPECT_TRUE(pooled.isfinite().all().item<bool>());
}

TEST(LandmarkPooling, OneCellOfOneLandmarkByHand) {
  const Tensor map = torch::arange(16, torch::kFloat32).view({1, 1, 4, 4});
  const Tensor places = torch::tensor({{{0.625F, 0.375F}}});  // the centre of column 2, row 1
  const Tensor one = torch::ones({1, 1}, torch::kBool);
  EXPECT_EQ(landmark_pooling(map, places, one, {1, 1}).item<double>(), 6);
  EXPECT_EQ(landmark_pooling(map, places, one, {1, 3}).item<double>(), 11);
  EXPECT_EQ(landmark_pooling(map, places, torch::zeros_like(one), {1, 3}).item<double>(), 0);
}

TEST(LandmarkPooling, GradientIsThatOfFiniteDifferences) {
  torch::manual_seed(2);
  const Tensor map = torch::randn({2, 3, 6, 5}, torch::kFloat64).requires_grad_(true);
  const Tensor places = torch::rand({2, 8, 2}, torch::kFloat64) * 1.2 - 0.1;
  const Tensor visible = torch::rand({2, 8}) > 0.3;
  const Tensor factors = torch::randn({2, 8, 3, 2, 2}, torch::kFloat64);
  test::expect_gradients(
      [&] {
        return (landmark_pooling(map, places, visible, {2, 2}) * factors).sum();
      },
      {map}, 90);
}

TEST(LandmarkPooling, TheGradientHasTheSameBytesForAnyNumberOfThreads) {
  const auto gradient = [](int threads) {
    const test::Threads scope(threads);
    torch::manual_seed(3);
    const Tensor map = torch::randn({8, 16, 14, 14}).requires_grad_(true);
    const Tensor places = torch::rand({8, 8, 2}) * 0.2 + 0.4;  // regions overlap
    const Tensor visible = torch::ones({8, 8}, torch::kBool);
    const Tensor pooled = landmark_pooling(map, places, visible, {2, 3});
    (pooled * torch::randn_like(pooled)).sum().backward();
    return map.grad();
  };
  EXPECT_TRUE(gradient(1).equal(gradient(4)));
}

}  // namespace seam::nn::landmark_pooling_test
