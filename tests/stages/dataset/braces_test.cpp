#include "stages/dataset/braces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <seam/refusal_testing.hpp>

namespace seam::stages {
namespace braces_test {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Expected values are those of bash.
TEST(ExpandBraces, CountsWithTheZerosOfItsEnds) {
  EXPECT_THAT(expand_braces("t-{008..011}.tar"),
              ElementsAre("t-008.tar", "t-009.tar", "t-010.tar", "t-011.tar"));
  EXPECT_THAT(expand_braces("{9..11}"), ElementsAre("9", "10", "11"));
  EXPECT_THAT(expand_braces("{0..2}"), ElementsAre("0", "1", "2"));
  EXPECT_THAT(expand_braces("{1..003}"), ElementsAre("001", "002", "003"));
  EXPECT_THAT(expand_braces("{3..1}"), ElementsAre("3", "2", "1"));
  EXPECT_THAT(expand_braces("{000000..999999}"), SizeIs(1'000'000));
}

TEST(ExpandBraces, ListsAndMultiplies) {
  EXPECT_THAT(expand_braces("{train,val}-{0..1}.tar"),
              ElementsAre("train-0.tar", "train-1.tar", "val-0.tar", "val-1.tar"));
  EXPECT_THAT(expand_braces("{a,b{1..2},}x"), ElementsAre("ax", "b1x", "b2x", "x"));
}

TEST(ExpandBraces, LeavesOtherBracesAlone) {
  for (const char* text : {"", "a.tar", "{a}", "{}", "a{1..2", "a}1..2{", "{1..}", "{a..c}",
                           "awk '{print}'", "{1...3}", "{-1..1}"}) {
    EXPECT_THAT(expand_braces(text), ElementsAre(text));
  }
  EXPECT_THAT(expand_braces("{{1..2}"), ElementsAre("{1", "{2"));
}

TEST(ExpandBraces, RefusesMoreNamesThanAnyoneMeans) {
  for (const char* text : {"{0..1000000}", "{0..9223372036854775806}", "{1..2000}-{1..2000}"}) {
    EXPECT_REFUSED((void)expand_braces(text), Fault::configuration, "more than 1,000,000");
  }
}

}  // namespace braces_test
}  // namespace seam::stages
