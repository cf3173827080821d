#include "pipeline/config/variables.hpp"

#include <gmock/gmock.h>

namespace seam::host::variables_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::map<std::string, std::string> environment{
    {"HOME", "/home/ada"}, {"EMPTY", ""}, {"DOLLAR", "${HOME}"}};

std::string expanded(std::string_view text) {
  const Expansion expansion = expand_variables(text, environment);
  EXPECT_THAT(expansion.faults, IsEmpty()) << text;
  EXPECT_EQ(expansion.text.size(), expansion.written.size());
  return expansion.text;
}

TextFault fault_of(std::string_view text) {
  const Expansion expansion = expand_variables(text, environment);
  EXPECT_THAT(expansion.faults, SizeIs(1)) << text;
  return expansion.faults.empty() ? TextFault{} : expansion.faults.front();
}

TEST(ExpandVariables, Values) {
  EXPECT_EQ(expanded("${HOME}/list.txt"), "/home/ada/list.txt");
  EXPECT_EQ(expanded("a${HOME}b${HOME}c"), "a/home/adab/home/adac");
  EXPECT_EQ(expanded("x${EMPTY}y"), "xy");
  EXPECT_EQ(expanded(""), "");
}

TEST(ExpandVariables, ValuesAreNotExpandedAgain) {
  EXPECT_EQ(expanded("${DOLLAR}"), "${HOME}");
}

TEST(ExpandVariables, Defaults) {
  EXPECT_EQ(expanded("${DATA:-data/wardrobe}"), "data/wardrobe");
  EXPECT_EQ(expanded("${HOME:-elsewhere}"), "/home/ada");
  EXPECT_EQ(expanded("${EMPTY:-full}"), "full");
  EXPECT_EQ(expanded("${DATA:-}"), "");
  EXPECT_EQ(expanded("${DATA:-${HOME}/data}!"), "/home/ada/data!");
}

TEST(ExpandVariables, DollarSigns) {
  EXPECT_EQ(expanded("$$"), "$");
  EXPECT_EQ(expanded("$${HOME}"), "${HOME}");
  EXPECT_EQ(expanded("5$ and $x"), "5$ and $x");
}

TEST(ExpandVariables, CharactersKnowWhereTheyWereWritten) {
  const Expansion expansion = expand_variables("a${EMPTY:-xy}$$z", environment);
  EXPECT_EQ(expansion.text, "axy$z");
  EXPECT_THAT(expansion.written, ElementsAre(0, 10, 11, 13, 15));
}

TEST(ExpandVariables, UndefinedIsAnErrorAtItsPlace) {
  const TextFault fault = fault_of("x/${HOEM}/y");
  EXPECT_EQ(fault.code, "undefined-variable");
  EXPECT_EQ(fault.offset, 2U);
  EXPECT_EQ(fault.length, 7U);
  EXPECT_THAT(fault.notes, ::testing::Contains("did you mean 'HOME'?"));
  EXPECT_EQ(fault_of("${DATA:-${NONE}}").offset, 8U);
}

TEST(ExpandVariables, SyntaxErrors) {
  EXPECT_EQ(fault_of("${HOME").code, "variable-syntax");
  EXPECT_EQ(fault_of("${}").code, "variable-syntax");
  EXPECT_EQ(fault_of("${2ND}").code, "variable-syntax");
  EXPECT_EQ(fault_of("${HOME:?x}").code, "variable-syntax");
}

TEST(ExpandVariables, DeepDefaultsAreRefusedNotFollowed) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "${A:-";
  text.append(10'000, '}');
  EXPECT_THAT(expand_variables(text, {}).faults, ::testing::Not(IsEmpty()));
}

}  // namespace seam::host::variables_test
