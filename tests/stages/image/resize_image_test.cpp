#include "stages/image/resize_image.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::resize_image_test {

using test::greys;

/// One row of grey values.
Image row(const std::vector<int>& values) {
  return test::grey_picture(1, static_cast<int>(values.size()), values);
}

/// Edges and every grey level.
Image rough_picture(int height, int width) {
  Image image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.row(y)[3 * x + c] =
            static_cast<std::uint8_t>(37 * x * x + 101 * y + 59 * c * (x + y) + x * y * (c + 3));
      }
    }
  }
  return image;
}

/// The share of place i in the mean that is place x of a line resized to `length`, not normalised.
double share(int i, int x, int length, int source_length) {
  const double scale = static_cast<double>(source_length) / length;
  return std::max(0.0, 1 - std::abs(i + 0.5 - (x + 0.5) * scale) / std::max(scale, 1.0));
}

/// A level by the definition of the antialiased filter: a weighted mean over the whole picture.
double mean_level(const Image& image, const Image& resized, int y, int x, int channel) {
  double sum = 0;
  double weights = 0;
  for (int i = 0; i < image.height(); ++i) {
    for (int j = 0; j < image.width(); ++j) {
      const double weight = share(i, y, resized.height(), image.height()) *
                            share(j, x, resized.width(), image.width());
      sum += weight * image.row(i)[3 * j + channel];
      weights += weight;
    }
  }
  return sum / weights;
}

TEST(ResizeImage, HasTheSizeAskedFor) {
  const Image image = test::smooth_picture(50, 70);
  for (const auto way : {Interpolation::bilinear, Interpolation::antialiased,
                         Interpolation::nearest, Interpolation::area}) {
    const Image resized = resize_image(image, 13, 29, way);
    EXPECT_EQ(resized.height(), 13);
    EXPECT_EQ(resized.width(), 29);
    EXPECT_EQ(resized.channels(), 3);
  }
}

TEST(ResizeImage, OfOneRowByHand) {
  const auto resized = [](const std::vector<int>& values, int width, Interpolation way) {
    return greys(resize_image(row(values), 1, width, way));
  };
  // Four pixels over two: new centres lie at -1/4, 1/4, 3/4 and 5/4 of the old ones.
  EXPECT_EQ(resized({0, 100}, 4, Interpolation::bilinear), (std::vector<int>{0, 25, 75, 100}));
  // Three over six: centres at 1/2, 5/2 and 9/2 are between pixels; Pillow uses the later ones.
  EXPECT_EQ(resized({0, 1, 2, 3, 4, 5}, 3, Interpolation::nearest), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(resized({0, 1, 2}, 6, Interpolation::nearest), (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(resized({0, 10, 20, 90, 50, 70}, 2, Interpolation::area), (std::vector<int>{10, 70}));
}

TEST(ResizeImage, AntialiasesByTheBytesOfPillow) {
  // Image.resize((5, 3), Image.BILINEAR) of Pillow 11.0.
  const std::vector<std::uint8_t> reduced{
      134, 109, 111, 114, 129, 153, 117, 122, 178, 131, 111, 139, 116, 130, 139,
      135, 126, 145, 144, 130, 160, 128, 123, 114, 104, 117, 142, 124, 129, 117,
      134, 125, 147, 129, 116, 146, 120, 121, 67,  112, 138, 88,  132, 150, 131};
  const Image image = resize_image(rough_picture(12, 17), 3, 5, Interpolation::antialiased);
  EXPECT_EQ(std::vector(image.pixels().begin(), image.pixels().end()), reduced);
  // One side reduced, the other enlarged.
  const std::vector<std::uint8_t> first_row{53,  72,  103, 65,  68,  115, 87,  61,  135,
                                            136, 71,  127, 192, 86,  114, 153, 155, 141,
                                            123, 202, 149, 125, 164, 75,  127, 140, 31};
  const Image mixed = resize_image(rough_picture(7, 5), 4, 9, Interpolation::antialiased);
  EXPECT_EQ(std::vector(mixed.row(0), mixed.row(1)), first_row);
}

TEST(ResizeImage, AntialiasesAsTheFilterIsDefined) {
  const Image image = rough_picture(23, 31);
  for (const auto& [height, width] :
       std::vector<std::array<int, 2>>{{1, 1}, {5, 8}, {22, 30}, {23, 7}, {9, 60}, {40, 45}}) {
    const Image resized = resize_image(image, height, width, Interpolation::antialiased);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < 3; ++c) {
          ASSERT_NEAR(resized.row(y)[3 * x + c], mean_level(image, resized, y, x, c), 1)
              << height << " x " << width << " at " << y << ", " << x;
        }
      }
    }
  }
}

TEST(ResizeImage, KeepsTheExtremesWhenAntialiasing) {
  const Image resized =
      resize_image(test::filled(50, 70, 255, 1), 7, 9, Interpolation::antialiased);
  EXPECT_TRUE(std::ranges::all_of(resized.pixels(), [](std::uint8_t v) { return v == 255; }));
}

TEST(ResizeImage, RefusesWhatHasNoPixelsAndKeepsTheHandleOfTheRightSize) {
  EXPECT_THROW(resize_image(Image(), 4, 4), std::invalid_argument);
  EXPECT_THROW(resize_image(test::smooth_picture(4, 4), 0, 4), std::invalid_argument);
  const Image image = test::smooth_picture(5, 7);
  EXPECT_EQ(resize_image(image, 5, 7).data(), image.data());
}

}  // namespace seam::stages::resize_image_test
