#include "pipeline/text/markdown.hpp"

#include <gtest/gtest.h>

#include <string>

namespace seam::host::markdown_test {

TEST(Markdown, TablesBecomeColumns) {
  EXPECT_EQ(markdown_as_text("**12 queries** of `3` items.\n"
                             "\n"
                             "| mask | R@1 |  R@5 | data |\n"
                             "|---|---:|---:|---|\n"
                             "| `none` | 0.5 | 12.25 | a \\| b |\n"
                             "| | 100 | 2 | |\n"
                             "\n"
                             "## Ties\n"
                             "None",
                             80),
            "12 queries of 3 items.\n"
            "\n"
            "mask  R@1    R@5  data\n"
            "none  0.5  12.25  a | b\n"
            "      100      2\n"
            "\n"
            "Ties\n"
            "None\n");
  EXPECT_EQ(markdown_as_text("", 80), "");
  EXPECT_EQ(markdown_as_text("| alone |", 80), "alone\n");
}

TEST(Markdown, WhatOnlyLooksLikeAMarkStays) {
  EXPECT_EQ(markdown_as_text("#\n##\n#1 of 3\n# First", 80), "#\n##\n#1 of 3\nFirst\n");
  EXPECT_EQ(markdown_as_text("|\n", 80), "\n");
  EXPECT_EQ(markdown_as_text("| a | b |\n|---|---|\n| - | - |\n", 80), "a  b\n-  -\n");
}

TEST(Markdown, ATableWiderThanTheScreenGoesOnBelow) {
  const std::string text = markdown_as_text(
      "| mask | first | second | third |\n|---|---|---|---|\n| none | 1 | 2 | 3 |\n", 20);
  EXPECT_EQ(text,
            "mask  first  second\n"
            "none  1      2\n"
            "\n"
            "mask  third\n"
            "none  3\n");
}

TEST(Markdown, AColumnThatNeverFitsIsShownAllTheSame) {
  const std::string wide(40, 'x');
  EXPECT_EQ(markdown_as_text("| a | " + wide + " | b |\n|---|---|---|\n| 1 | 2 | 3 |\n", 20),
            "a  " + wide + "\n1  2\n\na  b\n1  3\n");
}

}  // namespace seam::host::markdown_test
