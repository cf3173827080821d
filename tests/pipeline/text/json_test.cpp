#include "pipeline/text/json.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace seam::host::json_test {

TEST(JsonLine, KeepsTheOrderOfItsKeys) {
  EXPECT_EQ(json_line({{"b", 1}, {"a", "x\n"}, {"c", std::vector<std::string>{"p"}}}),
            R"({"b":1,"a":"x\n","c":["p"]})");
}

TEST(JsonLine, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(json_line("Größe 像"), "\"Größe 像\"");
  EXPECT_EQ(json_line("a\xff"
                      "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(JsonLine, NumbersReadBackAsTheSame) {
  for (const double number : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0}) {
    EXPECT_EQ(Json::parse(json_line(number)).get<double>(), number);
  }
}

TEST(JsonLine, WhatIsNotFiniteIsStillJson) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json_line({{"value", infinity}}), R"({"value":null})");
}

TEST(IndentedJson, HasOneValuePerLine) {
  EXPECT_EQ(indented_json({{"b", 1}, {"a", "x"}}), "{\n \"b\": 1,\n \"a\": \"x\"\n}");
}

TEST(AsciiJson, EscapesOtherCharacters) {
  EXPECT_EQ(ascii_json("ö\u2028"), R"("\u00f6\u2028")");
}

TEST(ParseJson, ThrowsOrReturnsWhatIsNeitherObjectNorArray) {
  EXPECT_EQ(json_line(parse_json(R"({"b":1,"a":[2]})")), R"({"b":1,"a":[2]})");
  EXPECT_THROW(parse_json("{"), Json::exception);
  std::ifstream missing("no/such/file");
  for (const Json& json : {try_parse_json("{"), try_parse_json(""), try_parse_json(missing)}) {
    EXPECT_FALSE(json.is_object() || json.is_array());
  }
}

}  // namespace seam::host::json_test
