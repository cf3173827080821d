#include "stages/image/recolour.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "stages/image/augment.hpp"
#include "tests/stages/image/pictures.hpp"

namespace seam::stages::recolour_test {

/// The same, pixel by pixel in 64 bits and with a division.
Image expected(const Image& image, const std::array<double, 9>& matrix) {
  Image result = image.clone();
  for (std::size_t i = 0; i < image.bytes(); ++i) {
    const std::uint8_t* const pixel = image.data() + i / 3 * 3;
    std::int64_t sum = 32768;
    for (std::size_t c = 0; c < 3; ++c) {
      sum += std::lround(matrix.at(i % 3 * 3 + c) * 65536) * pixel[c];
    }
    result.data()[i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum / 65536, 0, 255));
  }
  return result;
}

TEST(Recolour, SwapsChannels) {
  Image image(1, 1, 3);
  std::ranges::copy(std::array<std::uint8_t, 3>{10, 20, 30}, image.data());
  recolour(image, {0, 0, 1, 1, 0, 0, 0, 1, 0});
  EXPECT_EQ(image.data()[0], 30);
  EXPECT_EQ(image.data()[1], 10);
  EXPECT_EQ(image.data()[2], 20);
}

TEST(Recolour, GivesTheSameBytesWithAllVectorInstructions) {
  for (const int width : {1, 2, 7, 31, 64, 255, 256, 257, 300}) {
    const Image image = test::noise(3, width, 3);
    // To the most colourful that image.augment's parameters allow.
    for (const double saturation : {0.0, 0.3, 1.0, 1.5, 100.0}) {
      for (int hue = -180; hue <= 180; hue += 45) {
        const auto matrix = colour_matrix(saturation, hue);
        const Image right = expected(image, matrix);
        for (int set = 0; set <= static_cast<int>(best_instruction_set()); ++set) {
          Image changed = image.clone();
          recolour(changed, matrix, static_cast<InstructionSet>(set));
          ASSERT_EQ(changed, right) << "width " << width << ", saturation " << saturation
                                    << ", hue " << hue << ", instruction set " << set;
        }
      }
    }
  }
}

TEST(Recolour, RefusesMatricesWhoseSumsCouldOverflow) {
  Image white = test::filled(1, 1, 255);
  recolour(white, {127.9, -64, -63.9, 64, 63.9, -127.9, 0, 0, -127.9});
  EXPECT_EQ(std::vector<int>(white.data(), white.data() + 3), (std::vector<int>{0, 0, 0}));
  white = test::filled(1, 1, 255);
  recolour(white, {127.9, 0, 0, 64, 63.9, 0, 0, 0, 1});
  EXPECT_EQ(std::vector<int>(white.data(), white.data() + 3), (std::vector<int>{255, 255, 255}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {128.0, -128.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(recolour(white, {1, 0, 0, 0, 1, 0, 0, 0, bad}), std::invalid_argument);
  }
  Image image(2, 2, 4);
  EXPECT_THROW(recolour(image, colour_matrix(0, 0)), std::invalid_argument);
}

TEST(LargestValue, IsFoundAnywhere) {
  for (const std::size_t at : std::vector<std::size_t>{0, 1, 100, 299}) {
    Image image = test::filled(10, 10, 7);
    image.data()[at] = 200;
    EXPECT_EQ(largest_value(image), 200);
  }
  EXPECT_EQ(largest_value(Image()), 0);
}

}  // namespace seam::stages::recolour_test
