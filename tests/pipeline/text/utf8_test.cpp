#include "pipeline/text/utf8.hpp"

#include <gtest/gtest.h>

namespace seam::host::utf8_test {

TEST(Utf8, KnowsWellFormedText) {
  for (const char* text :
       {"", "abc", "caf\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x91\x97", "\xED\x9F\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
}

TEST(Utf8, KnowsWhatIsNot) {
  // Latin-1, cut short, overlong, a surrogate, beyond U+10FFFF, a byte that only continues.
  for (const char* text : {"caf\xE9", "caf\xC3", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",
                           "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "a\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
    EXPECT_TRUE(is_utf8(as_utf8(text)));
  }
}

TEST(Utf8, ReplacesTheBadBytesAlone) {
  EXPECT_EQ(as_utf8("caf\xE9/d"), "caf\xEF\xBF\xBD/d");
}

TEST(Utf8, CountsCharacters) {
  EXPECT_EQ(characters("a±b"), 3U);
  EXPECT_EQ(byte_of_character("a±b", 2), 3U);
  EXPECT_EQ(byte_of_character("a±b", 3), 4U) << "the end";
}

}  // namespace seam::host::utf8_test
