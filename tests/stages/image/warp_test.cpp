#include "stages/image/warp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::warp_test {

using test::noise;

/// The definition, in double precision.
double exact(const Image& image, const SourceMap& map, double gain, int y, int x, int channel) {
  const double row =
      std::clamp(map.row_by_row * y + map.row_by_column * x + map.row, 0.0, image.height() - 1.0);
  const double column = std::clamp(map.column_by_row * y + map.column_by_column * x + map.column,
                                   0.0, image.width() - 1.0);
  const int top = static_cast<int>(row);
  const int left = static_cast<int>(column);
  const int bottom = std::min(top + 1, image.height() - 1);
  const int right = std::min(left + 1, image.width() - 1);
  const auto at = [&](int r, int c) { return static_cast<double>(image.row(r)[3 * c + channel]); };
  const double fy = row - top;
  const double fx = column - left;
  const double value = (1 - fy) * ((1 - fx) * at(top, left) + fx * at(top, right)) +
                       fy * ((1 - fx) * at(bottom, left) + fx * at(bottom, right));
  return std::min(255.0, value * gain);
}

double worst_error(const Image& image, const SourceMap& map, double gain) {
  const Image warped = warp_bilinear(image, map, gain);
  double worst = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      for (int c = 0; c < 3; ++c) {
        const double difference = warped.row(y)[3 * x + c] - exact(image, map, gain, y, x, c);
        worst = std::max(worst, std::abs(difference));
      }
    }
  }
  return worst;
}

SourceMap random_map(Random& random, int height, int width) {
  SourceMap map;
  map.row_by_row = random.uniform(-1.5, 1.5);
  map.row_by_column = random.uniform(-1.5, 1.5);
  map.row = random.uniform(-0.5 * height, 1.5 * height);
  map.column_by_row = random.uniform(-1.5, 1.5);
  map.column_by_column = random.uniform(-1.5, 1.5);
  map.column = random.uniform(-0.5 * width, 1.5 * width);
  return map;
}

TEST(WarpBilinear, FollowsItsDefinitionOnSmoothPictures) {
  Random random(1, 0);
  for (int round = 0; round < 20; ++round) {
    const int height = 5 + static_cast<int>(random.index(60));
    const int width = 5 + static_cast<int>(random.index(60));
    const Image image = test::smooth_picture(height, width);
    // Half a value of rounding, and what 1/512 of a pixel makes on a slope of 6 values a pixel.
    EXPECT_LE(worst_error(image, random_map(random, height, width), 1), 0.55);
  }
}

TEST(WarpBilinear, FollowsItsDefinitionOnNoise) {
  Random random(2, 0);
  for (int round = 0; round < 20; ++round) {
    const Image image = noise(31, 47, static_cast<std::uint64_t>(round));
    // Steps of up to 255 values a pixel: 1/512 of a pixel down and right, and rounding.
    EXPECT_LE(worst_error(image, random_map(random, 31, 47), random.uniform(0.5, 1)), 1.5);
  }
}

TEST(WarpBilinear, MultipliesBeforeItRounds) {
  Random random(3, 0);
  const Image image = test::smooth_picture(40, 50);
  for (const double gain : {0.0, 0.25, 1.5, 3.0}) {
    EXPECT_LE(worst_error(image, random_map(random, 40, 50), gain), 0.5 + 0.05 * (1 + gain));
  }
}

TEST(WarpBilinear, TakesTheMeanHalfwayBetweenPixels) {
  Image image(1, 2, 3);
  const std::uint8_t values[] = {10, 20, 30, 20, 40, 60};
  std::copy(std::begin(values), std::end(values), image.data());
  const Image warped = warp_bilinear(image, {.column = 0.5});
  EXPECT_EQ(warped.data()[0], 15);
  EXPECT_EQ(warped.data()[1], 30);
  EXPECT_EQ(warped.data()[2], 45);
  EXPECT_EQ(warped.data()[3], 20);  // beyond the edge: the last pixel
}

TEST(WarpBilinear, HandlesPicturesOfOneRowColumnOrPixel) {
  for (const auto& [height, width] : {std::pair{1, 9}, std::pair{9, 1}, std::pair{1, 1}}) {
    const Image image = noise(height, width, 5);
    EXPECT_EQ(warp_bilinear(image, {}), image);
    EXPECT_LE(worst_error(image, {.row_by_column = 0.3, .row = -0.2, .column = 0.4}, 1), 1.5);
  }
  const Image image = noise(33, 17, 4);
  EXPECT_EQ(warp_bilinear(image, {}), image);
}

TEST(WarpBilinear, TakesTheEdgeFarOutside) {
  const Image image = noise(8, 8, 6);
  const Image warped = warp_bilinear(image, {.row = 1e12, .column = -1e12});
  for (int x = 0; x < 8; ++x) {
    for (int c = 0; c < 3; ++c) EXPECT_EQ(warped.row(3)[3 * x + c], image.row(7)[c]);
  }
}

TEST(WarpBilinear, GivesTheSameBytesWithAllVectorInstructions) {
  Random random(7, 0);
  const Image image = noise(67, 131, 7);
  for (int round = 0; round < 10; ++round) {
    const SourceMap map = random_map(random, 67, 131);
    const Image plain = warp_bilinear(image, map, 1.3, InstructionSet::baseline);
    if (best_instruction_set() != InstructionSet::baseline) {
      EXPECT_EQ(warp_bilinear(image, map, 1.3, InstructionSet::avx2), plain);
    }
    if (best_instruction_set() == InstructionSet::avx512) {
      EXPECT_EQ(warp_bilinear(image, map, 1.3, InstructionSet::avx512), plain);
    }
  }
}

TEST(WarpBilinear, RefusesWhatItCannotWarp) {
  EXPECT_THROW(warp_bilinear(Image(), {}), std::invalid_argument);
  EXPECT_THROW(warp_bilinear(Image(4, 4, 1), {}), std::invalid_argument);
  const Image image = noise(4, 4, 8);
  EXPECT_THROW(warp_bilinear(image, {.row = std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
  EXPECT_THROW(warp_bilinear(image, {}, -1), std::invalid_argument);
}

}  // namespace seam::stages::warp_test
