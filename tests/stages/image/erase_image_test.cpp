#include "stages/image/erase.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::erase_image_test {

constexpr SideRanges usual_ranges{0.02, 0.33, 0.3, 3.3};

std::optional<Region> erased_region(const Image& image, const SideRanges& ranges,
                                    std::uint64_t number = 0) {
  Random random(1, 2, 3, number);
  return random_erased_region(image, ranges, random);
}

TEST(RandomErasedRegion, IsWhatTheDrawsSay) {
  // torchvision's text, step by step, from the same random numbers.
  constexpr int height = 20;
  constexpr int width = 44;
  const Image image = test::smooth_picture(height, width);
  int second_attempts = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    Random random(1, 2, 3, i);
    Region expected;
    for (int attempt = 0; attempt < 10 && expected.width == 0; ++attempt) {
      const double area = height * width * (0.02 + 0.31 * random.uniform());
      const double aspect = 0.3 * std::pow(11.0, random.uniform());
      const auto h = static_cast<int>(std::lround(std::sqrt(area * aspect)));
      const auto w = static_cast<int>(std::lround(std::sqrt(area / aspect)));
      second_attempts += attempt == 1 ? 1 : 0;
      if (h >= height || w >= width) continue;
      const auto top = static_cast<int>(random.index(static_cast<std::uint64_t>(height - h) + 1));
      const auto left = static_cast<int>(random.index(static_cast<std::uint64_t>(width - w) + 1));
      expected = {.top = top, .left = left, .height = h, .width = w};
    }
    EXPECT_EQ(erased_region(image, usual_ranges, i), expected) << i;
  }
  EXPECT_GT(second_attempts, 30);
}

TEST(RandomErasedRegion, IsNothingWhereNothingFits) {
  // As high as the picture is too high.
  EXPECT_EQ(erased_region(test::smooth_picture(10, 90), {0.1, 0.1, 100.0 / 90, 100.0 / 90}),
            std::nullopt);
  EXPECT_EQ(erased_region(test::smooth_picture(10, 10), {1, 1, 1, 1}), std::nullopt);
  EXPECT_EQ(erased_region(test::smooth_picture(10, 10), {0.001, 0.002, 1, 1}), std::nullopt)
      << "less than a pixel";
  EXPECT_EQ(erased_region(test::smooth_picture(1, 1), usual_ranges), std::nullopt);
  EXPECT_EQ(erased_region(Image(), usual_ranges), std::nullopt);
}

TEST(EraseRegion, PaintsTheRegionAndNothingElse) {
  const Region region{.top = 1, .left = 2, .height = 3, .width = 4};
  const Image image = test::smooth_picture(6, 9);
  const Image before = image.clone();
  const Image colour = erase_region(image, region, std::array<std::uint8_t, 3>{1, 2, 3});
  const Image grey = erase_region(image, region, std::array<std::uint8_t, 1>{7});
  EXPECT_EQ(image, before) << "the caller's picture was changed";
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 9; ++x) {
      const bool inside = y >= 1 && y <= 3 && x >= 2 && x <= 5;
      for (int channel = 0; channel < 3; ++channel) {
        const int at = 3 * x + channel;
        EXPECT_EQ(colour.row(y)[at], inside ? channel + 1 : image.row(y)[at]);
        EXPECT_EQ(grey.row(y)[at], inside ? 7 : image.row(y)[at]);
      }
    }
  }
}

TEST(EraseRegion, RefusesWhatDoesNotFit) {
  const Image image = test::smooth_picture(6, 9);
  const std::array<std::uint8_t, 2> two{};
  const std::array<std::uint8_t, 1> one{};
  EXPECT_THROW(erase_region(image, {0, 0, 1, 1}, two), std::invalid_argument);
  EXPECT_THROW(erase_region(image, {0, 0, 7, 1}, one), std::invalid_argument);
  EXPECT_THROW(erase_region(image, {0, 0, 0, 1}, one), std::invalid_argument);
}

TEST(EraseWithNoise, GivesEveryValueAboutAsOften) {
  const Image image(300, 300, 3);
  const Region region{.top = 20, .left = 30, .height = 256, .width = 200};
  Random random(3, 4);
  const Image noisy = erase_with_noise(image, region, random);
  std::array<int, 256> counts{};
  double products = 0;  // of neighbouring channels, less their means
  for (int y = 20; y < 276; ++y) {
    for (int at = 90; at < 690; ++at) ++counts.at(noisy.row(y)[at]);
    for (int at = 90; at < 689; ++at) {
      products += (noisy.row(y)[at] - 127.5) * (noisy.row(y)[at + 1] - 127.5);
    }
  }
  const double expected = 256.0 * 600 / 256;
  double chi_squared = 0;
  for (const int count : counts) chi_squared += std::pow(count - expected, 2) / expected;
  EXPECT_LT(chi_squared, 255 + 5 * std::sqrt(2 * 255.0));
  const double variance = (256.0 * 256 - 1) / 12;
  EXPECT_LT(std::abs(products) / variance, 5 * std::sqrt(256.0 * 599));
}

TEST(EraseWithNoise, LeavesTheRestAsItIs) {
  const Image image = test::smooth_picture(6, 9);
  Random random(3, 4);
  const Image noisy =
      erase_with_noise(image, {.top = 2, .left = 0, .height = 4, .width = 8}, random);
  for (int y = 0; y < 6; ++y) {
    for (int at = y < 2 ? 0 : 24; at < 27; ++at) EXPECT_EQ(noisy.row(y)[at], image.row(y)[at]);
  }
}

}  // namespace seam::stages::erase_image_test
