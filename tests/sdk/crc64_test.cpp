#include "sdk/src/crc64.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

namespace seam::crc64_test {

std::uint64_t crc64(std::string_view text) {
  Crc64 checksum;
  checksum.add(std::as_bytes(std::span(text)));
  return checksum.value();
}

// The check value of CRC-64/XZ in the catalogue of CRC algorithms.
TEST(Crc64, KnownAnswer) {
  EXPECT_EQ(crc64("123456789"), 0x995DC9BBDF1939FAU);
  EXPECT_EQ(crc64(""), 0U);
}

TEST(Crc64, TheCutsBetweenPiecesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Crc64 checksum;
    checksum.add(std::as_bytes(std::span(text).first(cut)));
    checksum.add(std::as_bytes(std::span(text).subspan(cut)));
    ASSERT_EQ(checksum.value(), crc64(text));
  }
}

}  // namespace seam::crc64_test
