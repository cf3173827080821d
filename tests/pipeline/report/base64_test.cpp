#include "pipeline/report/base64.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace seam::host::base64_test {

std::string of(std::string_view text) {
  return base64(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(Base64, IsThatOfTheStandard) {  // the vectors of RFC 4648, section 10
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foob"), "Zm9vYg==");
  EXPECT_EQ(of("fooba"), "Zm9vYmE=");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
}

TEST(Base64, TakesEveryByte) {
  constexpr std::array bytes{std::byte{0xff}, std::byte{0xfe}, std::byte{0x00}};
  EXPECT_EQ(base64(bytes), "//4A");
}

}  // namespace seam::host::base64_test
