#include "pipeline/config/variables.hpp"

#include <utility>

#include "tests/support/matchers.hpp"

namespace seam::host::variables_test {

const Environment environment{{"HOME", "/home/ada"}, {"EMPTY", ""}, {"DOLLAR", "${HOME}"}};

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

TEST(ExpandVariables, ReplacesValuesDefaultsAndDollarSigns) {
  for (const auto& [text, expected] : {
           std::pair("${HOME}/list.txt", "/home/ada/list.txt"),
           {"a${HOME}b${HOME}c", "a/home/adab/home/adac"},
           {"x${EMPTY}y", "xy"},
           {"", ""},
           {"${DOLLAR}", "${HOME}"},  // a value is not expanded again
           {"${DATA:-data/wardrobe}", "data/wardrobe"},
           {"${HOME:-elsewhere}", "/home/ada"},
           {"${EMPTY:-full}", "full"},
           {"${DATA:-}", ""},
           {"${DATA:-${HOME}/data}!", "/home/ada/data!"},
           {"$$", "$"},
           {"$${HOME}", "${HOME}"},
           {"5$ and $x", "5$ and $x"},
       }) {
    EXPECT_EQ(expanded(text), expected);
  }
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
  for (const char* text : {"${HOME", "${}", "${2ND}", "${HOME:?x}"}) {
    EXPECT_EQ(fault_of(text).code, "variable-syntax") << text;
  }
}

TEST(ExpandVariables, DeepDefaultsAreRefusedNotFollowed) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "${A:-";
  text.append(10'000, '}');
  EXPECT_THAT(expand_variables(text, {}).faults, ::testing::Not(IsEmpty()));
}

}  // namespace seam::host::variables_test
