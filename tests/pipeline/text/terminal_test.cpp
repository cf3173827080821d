#include "pipeline/text/terminal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace seam::host::terminal_test {

const Screen in_colour{80, true};

TEST(Terminal, CountsCharactersNotBytesOrEscapes) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("0.66 ± 0.02"), 11U);
  EXPECT_EQ(columns_of(painted(in_colour, Paint::bold, "±1")), 2U);
}

TEST(Terminal, PaintsWhereColourIsWanted) {
  EXPECT_EQ(painted({}, Paint::red, "text"), "text");
  EXPECT_EQ(painted(in_colour, Paint::red, "text"), "\x1b[31mtext\x1b[0m");
  EXPECT_EQ(painted(in_colour, Paint::plain, "text"), "text");
  EXPECT_EQ(painted(in_colour, Paint::red, ""), "");
}

TEST(Terminal, CutsBetweenCharacters) {
  EXPECT_EQ(cut("a±b", 3), "a±b");
  EXPECT_EQ(cut("a±b", 2), "a±");
  EXPECT_EQ(cut("a±b", 1), "a");
  EXPECT_EQ(cut("a±b", 0), "");
  EXPECT_EQ(cut_front("recall.r@10", 11), "recall.r@10");
  EXPECT_EQ(cut_front("recall.r@10", 5), "…r@10");
  EXPECT_EQ(cut_front("a±b", 2), "…b");
  EXPECT_EQ(cut_front("ab", 1), "…");
  EXPECT_EQ(cut_front("ab", 0), "");
}

TEST(Terminal, AFileIsNoTerminal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_EQ(screen_of(ends[1], ColourUse::automatic), (Screen{80, false}));
  EXPECT_EQ(screen_of(ends[1], ColourUse::never), (Screen{80, false}));
  EXPECT_EQ(screen_of(ends[1], ColourUse::always), (Screen{80, true}));
  for (const int end : ends) ::close(end);
}

}  // namespace seam::host::terminal_test
