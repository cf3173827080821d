#include "pipeline/run/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace seam::host {
namespace {

TEST(Json, EscapesWhatMustBe) {
  EXPECT_EQ(json_text("a\"b\\c\n\t\x01"), R"("a\"b\\c\n\t\u0001")");
  EXPECT_EQ(json_text("Größe 像"), "\"Größe 像\"");
}

TEST(Json, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(json_text("a\xff"
                      "b"),
            R"("a\ufffdb")");
  EXPECT_EQ(json_text("\xc0\xaf"), R"("\ufffd\ufffd")");                      // overlong
  EXPECT_EQ(json_text("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");            // a surrogate
  EXPECT_EQ(json_text("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // beyond U+10FFFF
  EXPECT_EQ(json_text("\xe5\x83"), R"("\ufffd\ufffd")");                      // cut off
}

TEST(Json, NumbersReadBackAsTheSame) {
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(std::stod(json_number(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(json_number(-2), "-2");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "-1e999");
}

TEST(Json, ObjectsAndArraysKeepTheirOrder) {
  EXPECT_EQ(JsonObject().text(), "{}");
  EXPECT_EQ(JsonObject()
                .add("b", 1)
                .add("a", "x")
                .add("c", true)
                .add("d", std::vector<std::string>{"p", "q"})
                .add_raw("e", JsonArray().add_raw("1").add("2").text())
                .text(),
            R"({"b":1,"a":"x","c":true,"d":["p","q"],"e":[1,"2"]})");
}

}  // namespace
}  // namespace seam::host
