#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <stdexcept>

#include "seam/image.hpp"

namespace seam::image_test {

Image counted(int height, int width, int channels) {
  Image image(height, width, channels);
  std::iota(image.data(), image.data() + image.bytes(), std::uint8_t{0});
  return image;
}

TEST(Image, RowsArePacked) {
  const Image image = counted(2, 3, 3);
  EXPECT_EQ(image.bytes(), 18U);
  EXPECT_EQ(image.row_bytes(), 9U);
  EXPECT_EQ(image.row(1), image.data() + 9);
  EXPECT_EQ(image.pixels().back(), 17);
}

TEST(Image, ACopySharesThePixelsACloneDoesNot) {
  const Image image = counted(2, 2, 1);
  Image copy = image;
  Image clone = image.clone();
  EXPECT_EQ(copy.data(), image.data());
  EXPECT_EQ(clone, image);
  *clone.data() = 200;
  EXPECT_EQ(*image.data(), 0);
  EXPECT_FALSE(clone == image);
}

TEST(Image, ACloneOfNothingIsEmpty) {
  EXPECT_TRUE(Image().clone().empty());
  EXPECT_EQ(Image().clone(), Image());
}

TEST(Image, KeepsBorrowedMemoryAlive) {
  auto owner = std::shared_ptr<std::uint8_t>(new std::uint8_t[4]{1, 2, 3, 4},
                                             std::default_delete<std::uint8_t[]>());
  const std::weak_ptr<std::uint8_t> watched = owner;
  Image image(2, 2, 1, std::move(owner));
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(image.row(1)[1], 4);
  image = Image();
  EXPECT_TRUE(watched.expired());
}

TEST(Image, ImagesAreEqualByShapeAndBytes) {
  EXPECT_EQ(counted(2, 3, 1), counted(2, 3, 1));
  EXPECT_FALSE(counted(2, 3, 1) == counted(3, 2, 1));
}

TEST(Image, RefusesShapesThatNoPictureHas) {
  EXPECT_THROW(Image(-1, 2, 3), std::invalid_argument);
  EXPECT_THROW(Image(1, 2, 2), std::invalid_argument);
}

}  // namespace seam::image_test
