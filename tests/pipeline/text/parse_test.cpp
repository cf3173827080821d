#include "pipeline/text/parse.hpp"

#include <cstdint>

#include "tests/support/matchers.hpp"

namespace seam::host::parse_test {

TEST(NumberIn, IsTheWholeText) {
  EXPECT_EQ(number_in<std::int64_t>("-12"), -12);
  EXPECT_EQ(number_in<double>("1e-4"), 1e-4);
  for (const char* text : {"", "12 ", " 12", "1x", "x"}) {
    EXPECT_FALSE(number_in<double>(text)) << text;
  }
  EXPECT_FALSE(number_in<std::uint8_t>("256"));
}

TEST(Replaced, SearchesNotWhatItInserts) {
  EXPECT_EQ(replaced("|a||", "|", "\\|"), "\\|a\\|\\|");
  EXPECT_EQ(replaced("a\nb", "\n", ""), "ab");
  EXPECT_EQ(replaced("", "a", "b"), "");
}

TEST(Split, ASeparatorAtTheEndBeginsNoPart) {
  EXPECT_THAT(split("a\n\nb\n", '\n'), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("a|b", '|'), ElementsAre("a", "b"));
  EXPECT_THAT(split("", '|'), IsEmpty());
}

}  // namespace seam::host::parse_test
