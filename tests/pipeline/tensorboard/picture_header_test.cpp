#include "pipeline/tensorboard/picture_header.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>

namespace seam::host::tensorboard::picture_header_test {

using namespace std::string_literals;

std::optional<PictureHeader> header(const std::string& bytes) {
  return picture_header(std::as_bytes(std::span(bytes)));
}

const std::string png =
    "\x89PNG\r\n\x1A\n"
    "\x00\x00\x00\x0DIHDR"
    "\x00\x00\x01\x02\x00\x00\x00\x03\x08\x02\x00\x00\x00"s;

/// JFIF's segment, a fill byte, a table of Huffman codes, and the frame: 2x260, three components.
const std::string jpeg =
    "\xFF\xD8\xFF\xE0\x00\x04JF"
    "\xFF\xFF\xC4\x00\x03x"
    "\xFF\xC2\x00\x11\x08\x01\x04\x00\x02\x03\x01\x22\x00"s;

TEST(PictureHeader, OfAPng) {
  EXPECT_EQ(header(png), (PictureHeader{258, 3, 3}));
  for (const auto& [colour, channels] : {std::pair('\0', 1), {'\3', 3}, {'\4', 2}, {'\6', 4}}) {
    std::string other = png;
    other[25] = colour;
    EXPECT_EQ(header(other), (PictureHeader{258, 3, channels}));
  }
}

TEST(PictureHeader, OfAJpeg) {
  EXPECT_EQ(header(jpeg), (PictureHeader{2, 260, 3}));
}

TEST(PictureHeader, OfWhatEndsEarlyOrIsNoPicture) {
  for (std::size_t size = 0; size <= 25; ++size) {
    EXPECT_EQ(header(png.substr(0, size)), std::nullopt) << size;
  }
  for (std::size_t size = 0; size < jpeg.size() - 3; ++size) {
    EXPECT_EQ(header(jpeg.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(header("GIF89a, and so on, and so on, and so on"), std::nullopt);
  EXPECT_EQ(header("\xFF\xD8\xFF\xE0\x00\x00\xFF\xE0\x00\x00\xFF\xE0\x00\x00"s), std::nullopt);
  std::string empty = png;
  empty[18] = empty[19] = 0;
  EXPECT_EQ(header(empty), std::nullopt);
  empty = png;
  empty[25] = 1;  // no colour type
  EXPECT_EQ(header(empty), std::nullopt);
}

}  // namespace seam::host::tensorboard::picture_header_test
