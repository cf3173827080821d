#include "sdk/src/crc64.hpp"

#include <gtest/gtest.h>

#include <span>
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
  Crc64 checksum;
  for (const std::string_view piece : {"123", "", "456789"}) {
    checksum.add(std::as_bytes(std::span(piece)));
  }
  EXPECT_EQ(checksum.value(), crc64("123456789"));
}

}  // namespace seam::crc64_test
