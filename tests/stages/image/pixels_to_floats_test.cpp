#include "stages/image/pixels_to_floats.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/stages/image/pictures.hpp"

namespace seam::stages::pixels_to_floats_test {

const Normalisation imagenet{.mean = {0.485F, 0.456F, 0.406F},
                             .deviation = {0.229F, 0.224F, 0.225F}};

TEST(PixelsToFloats, DividesEveryByteBy255) {
  Image image(16, 16, 3);
  for (std::size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<std::uint8_t>(i);
  std::vector<float> out(image.bytes());
  pixels_to_floats(image, {}, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], static_cast<float>(image.data()[i]) / 255.0F);
  }
}

TEST(PixelsToFloats, NormalisesEachChannel) {
  Image image(1, 1, 3);
  image.data()[0] = 255;
  image.data()[1] = 0;
  image.data()[2] = 51;
  std::vector<float> out(3);
  pixels_to_floats(image, imagenet, out);
  EXPECT_FLOAT_EQ(out[0], (1.0F - 0.485F) / 0.229F);
  EXPECT_FLOAT_EQ(out[1], -0.456F / 0.224F);
  EXPECT_FLOAT_EQ(out[2], (0.2F - 0.406F) / 0.225F);
}

TEST(PixelsToFloats, GivesTheSameNumbersWithAllVectorInstructions) {
  const Image image = test::smooth_picture(19, 23);
  for (const Normalisation& normalisation : {Normalisation{}, imagenet}) {
    std::vector<float> plain(image.bytes());
    pixels_to_floats(image, normalisation, plain, InstructionSet::baseline);
    std::vector<float> fast(image.bytes());
    pixels_to_floats(image, normalisation, fast, best_instruction_set());
    EXPECT_EQ(fast, plain);
  }
}

TEST(PixelsToFloats, RefusesRoomOfTheWrongSize) {
  const Image image = test::smooth_picture(4, 4);
  std::vector<float> out(47);
  EXPECT_THROW(pixels_to_floats(image, {}, out), std::invalid_argument);
  std::vector<float> grey(16);
  EXPECT_THROW(pixels_to_floats(Image(4, 4, 1), {}, grey), std::invalid_argument);
}

}  // namespace seam::stages::pixels_to_floats_test
