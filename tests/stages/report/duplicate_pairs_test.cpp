#include "stages/report/duplicate_pairs.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <seam/refusal_testing.hpp>

namespace seam::stages::duplicate_pairs_test {

using Level = std::function<int(int y, int x)>;

Image picture(int height, int width, int channels, const Level& level) {
  Image image(height, width, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width * channels; ++x) {
      image.data()[y * width * channels + x] =
          static_cast<std::uint8_t>(level(y, x / channels) + x % channels);
    }
  }
  return image;
}

/// A wave of brightness, which is neither symmetric nor flat.
int wave(int y, int x) {
  return static_cast<int>(128 + 60 * std::sin(0.07 * x + 0.03 * y) + 40 * std::cos(0.11 * y));
}

TEST(PixelsHash, IsFnv1aOfSizeAndPixels) {
  // 1 x 2 x 1 with the pixels "fo": FNV-1a over 01 00 00 00 02 00 00 00 01 00 00 00 66 6f, worked
  // out by the definition in another language (Python).
  const Image image = picture(1, 2, 1, [](int, int x) { return x == 0 ? 'f' : 'o'; });
  EXPECT_EQ(pixels_hash(image), 0x9ABAFD3F16299624U);
}

TEST(PixelsHash, TellsSizesAndSinglePixelsApart) {
  const auto black = [](int, int) { return 0; };
  EXPECT_NE(pixels_hash(picture(4, 6, 1, black)), pixels_hash(picture(6, 4, 1, black)));
  EXPECT_NE(pixels_hash(picture(4, 6, 3, black)), pixels_hash(picture(12, 6, 1, black)));
  const Image image = picture(40, 60, 3, wave);
  EXPECT_EQ(pixels_hash(image), pixels_hash(image.clone()));
  Image changed = image.clone();
  changed.data()[changed.bytes() - 1] ^= 1U;
  EXPECT_NE(pixels_hash(image), pixels_hash(changed));
}

TEST(DifferenceHash, HasABitWhereAPixelIsDarkerThanTheNext) {
  // 9 x 8 already, so nothing is reduced. Row 0 rises, row 1 falls, row 2 has one step up after
  // pixel 3, the others are flat.
  const Image image = picture(8, 9, 1, [](int y, int x) {
    if (y == 0) return 10 * x;
    if (y == 1) return 100 - 10 * x;
    return y == 2 && x > 3 ? 50 : 0;
  });
  EXPECT_EQ(difference_hash(image), 0xFFU | (1U << (2 * 8 + 3)));
}

TEST(DifferenceHash, TakesTheMeanOfThePixelsThatANewOneCovers) {
  // 4 x 3 pixels for each of 9 x 8, whose means rise along a row while single pixels jump.
  const Image image = picture(
      24, 36, 1, [](int y, int x) { return 20 * (x / 4) + ((x + y) % 2 == 0 ? 15 : -15) + 20; });
  EXPECT_EQ(difference_hash(image), ~std::uint64_t{0});
}

TEST(DifferenceHash, IsNearlyTheSameInAnotherSizeAndBrightness) {
  const std::uint64_t hash = difference_hash(picture(90, 72, 3, wave));
  const auto darker = [](int y, int x) { return wave(y, x) * 3 / 4; };
  EXPECT_LE(std::popcount(hash ^ difference_hash(picture(90, 72, 3, darker))), 2);
  const auto larger = [](int y, int x) { return wave(y / 2, x / 2); };
  EXPECT_LE(std::popcount(hash ^ difference_hash(picture(180, 144, 3, larger))), 2);
  const auto mirrored = [](int y, int x) { return wave(y, 71 - x); };
  EXPECT_GT(std::popcount(hash ^ difference_hash(picture(90, 72, 3, mirrored))), 16);
}

TEST(SmallPicture, IsTheMeanOfBlocks) {
  // 3 x 2 pixels for each of 16 x 16.
  const Image image = picture(48, 32, 3, [](int y, int x) { return 5 * (y / 3) + 2 * (x % 2); });
  const auto small = small_picture(image);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16 * 3; ++x) {
      EXPECT_EQ(small.at(static_cast<std::size_t>(y * 48 + x)), 5 * y + 1 + x % 3);
    }
  }
}

TEST(SmallPicture, HasThreeChannelsWhateverThePictureHas) {
  const auto level = [](int y, int x) { return 3 * y + 2 * x; };
  const auto small = small_picture(picture(16, 16, 1, level));
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16 * 3; ++x) {
      EXPECT_EQ(small.at(static_cast<std::size_t>(y * 48 + x)), level(y, x / 3));
    }
  }
  const auto with_alpha = small_picture(picture(16, 16, 4, level));
  EXPECT_EQ(with_alpha, small_picture(picture(16, 16, 3, level)));
  EXPECT_EQ(difference_hash(picture(16, 18, 4, level)), difference_hash(picture(16, 18, 3, level)));
}

TEST(SmallPicture, DiffersByTheRootOfTheMeanSquare) {
  SmallPicture a{};
  SmallPicture b{};
  EXPECT_EQ(difference_of(a, b), 0);
  b.fill(255);
  EXPECT_EQ(difference_of(a, b), 255);
  b.fill(0);
  b[0] = 48;  // 48^2 / 768 = 3
  EXPECT_DOUBLE_EQ(difference_of(a, b), std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(difference_of(b, a), std::sqrt(3.0));
}

TEST(HashOf, WorksOnAnyPictureWithPixels) {
  EXPECT_REFUSED(static_cast<void>(hash_of(Image())), Fault::data, "the image has no pixels");
  const auto hash = hash_of(picture(2, 3, 3, wave));
  EXPECT_EQ(hash, hash_of(picture(2, 3, 3, wave)));
}

}  // namespace seam::stages::duplicate_pairs_test
