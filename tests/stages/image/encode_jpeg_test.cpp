#include "stages/image/encode_jpeg.hpp"

#include <algorithm>

#include "stages/image/decode_image.hpp"
#include "tests/stages/image/pictures.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::encode_jpeg_test {

int largest_difference(const Image& image, const Image& other) {
  int largest = 0;
  for (std::size_t i = 0; i < image.bytes(); ++i) {
    largest = std::max(largest, std::abs(int{image.data()[i]} - int{other.data()[i]}));
  }
  return largest;
}

TEST(EncodeJpeg, KeepsColoursInTheirOrder) {
  const Image drawn = test::smooth_picture(37, 53);
  const Image read = decode_image(encode_jpeg(drawn), "drawn.jpg");
  ASSERT_EQ(read.height(), 37);
  ASSERT_EQ(read.width(), 53);
  EXPECT_LE(largest_difference(read, drawn), 16);
}

TEST(EncodeJpeg, WritesGrey) {
  const Image read = decode_image(encode_jpeg(test::filled(8, 24, 77, 1)), "grey.jpg");
  EXPECT_LE(largest_difference(read, test::filled(8, 24, 77)), 1);
}

TEST(EncodeJpeg, RefusesWhatLibjpegCannotWrite) {
  EXPECT_REFUSED(static_cast<void>(encode_jpeg(test::filled(2, 2, 0, 4))), Fault::internal,
                 "libjpeg cannot write an image of 2 x 2 pixels: ");
  EXPECT_REFUSED(static_cast<void>(encode_jpeg(test::filled(1, 65'501, 0))), Fault::internal,
                 "65500");
}

}  // namespace seam::stages::encode_jpeg_test
