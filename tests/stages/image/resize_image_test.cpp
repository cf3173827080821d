#include "stages/image/resize_image.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages {
namespace resize_image_test {

/// One row of grey values.
Image row(const std::vector<int>& values) {
  Image image(1, static_cast<int>(values.size()), 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      image.data()[3 * i + c] = static_cast<std::uint8_t>(values[i]);
    }
  }
  return image;
}

std::vector<int> greys(const Image& image) {
  std::vector<int> values;
  for (std::size_t i = 0; i < image.bytes(); i += 3) values.push_back(image.data()[i]);
  return values;
}

TEST(ResizeImage, ReturnsTheSameHandleWhereTheSizeIsRight) {
  const Image image = test::smooth_picture(5, 7);
  EXPECT_EQ(resize_image(image, 5, 7).data(), image.data());
}

TEST(ResizeImage, HasTheSizeAskedFor) {
  const Image image = test::smooth_picture(50, 70);
  for (const auto way : {Interpolation::bilinear, Interpolation::nearest, Interpolation::area}) {
    const Image resized = resize_image(image, 13, 29, way);
    EXPECT_EQ(resized.height(), 13);
    EXPECT_EQ(resized.width(), 29);
    EXPECT_EQ(resized.channels(), 3);
  }
}

TEST(ResizeImage, InterpolatesBetweenPixelCentres) {
  // Four pixels over two: new centres lie at -1/4, 1/4, 3/4 and 5/4 of the old ones.
  EXPECT_EQ(greys(resize_image(row({0, 100}), 1, 4)), (std::vector<int>{0, 25, 75, 100}));
}

TEST(ResizeImage, PicksTheNearestCentre) {
  // Three over six: centres at 1/2, 5/2 and 9/2 are between pixels; Pillow uses the later ones.
  EXPECT_EQ(greys(resize_image(row({0, 1, 2, 3, 4, 5}), 1, 3, Interpolation::nearest)),
            (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(greys(resize_image(row({0, 1, 2}), 1, 6, Interpolation::nearest)),
            (std::vector<int>{0, 0, 1, 1, 2, 2}));
}

TEST(ResizeImage, TakesTheMeanOfTheAreaWhenReducing) {
  EXPECT_EQ(greys(resize_image(row({0, 10, 20, 90, 50, 70}), 1, 2, Interpolation::area)),
            (std::vector<int>{10, 70}));
}

TEST(ResizeImage, RefusesWhatHasNoPixels) {
  EXPECT_THROW(resize_image(Image(), 4, 4), std::invalid_argument);
  EXPECT_THROW(resize_image(test::smooth_picture(4, 4), 0, 4), std::invalid_argument);
}

}  // namespace resize_image_test
}  // namespace seam::stages
