#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <seam/archive.hpp>
#include <seam/error.hpp>
#include <string>

namespace seam {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Archive, GivesBackWhatWasPut) {
  Archive archive;
  archive.put("step", std::int64_t{-3});
  archive.put("rate", 0.1);
  archive.put("text", std::string_view("a\0b", 3));
  archive.put("empty", std::string_view());
  EXPECT_EQ(archive.integer("step"), -3);
  EXPECT_EQ(archive.number("rate"), 0.1);
  EXPECT_EQ(archive.text("text"), std::string("a\0b", 3));
  EXPECT_EQ(archive.text("empty"), "");
  EXPECT_TRUE(archive.has("rate"));
  EXPECT_FALSE(archive.has("ratio"));
}

TEST(Archive, KeepsEveryBitOfANumber) {
  Archive archive;
  archive.put("nan", std::numeric_limits<double>::quiet_NaN());
  archive.put("zero", -0.0);
  archive.put("tiny", std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::isnan(archive.number("nan")));
  EXPECT_TRUE(std::signbit(archive.number("zero")));
  EXPECT_EQ(archive.number("tiny"), std::numeric_limits<double>::denorm_min());
}

TEST(Archive, ALaterValueReplacesAnEarlierOneOfAnyType) {
  Archive archive;
  archive.put("value", std::int64_t{1});
  archive.put("value", 2.5);
  EXPECT_EQ(archive.number("value"), 2.5);
  EXPECT_EQ(archive.entries().size(), 1U);
}

TEST(Archive, AMissingEntryIsNamedWithThosePresent) {
  Archive archive;
  archive.put("weights", 1.0);
  EXPECT_THAT(message_of([&] { (void)archive.integer("bias"); }),
              AllOf(HasSubstr("'bias'"), HasSubstr("weights")));
  EXPECT_THAT(message_of([] { (void)Archive().integer("bias"); }), HasSubstr("none"));
}

TEST(Archive, AnEntryOfAnotherTypeIsRefusedWithBoth) {
  Archive archive;
  archive.put("step", 1.0);
  EXPECT_THAT(message_of([&] { (void)archive.integer("step"); }),
              AllOf(HasSubstr("f64"), HasSubstr("i64")));
  EXPECT_NO_THROW((void)archive.get("step"));  // of any type
}

TEST(Archive, ANumberOfTheWrongSizeIsRefused) {
  Archive archive;
  archive.put("step", Archive::Entry{"i64", {}, std::vector<std::byte>(4)});
  EXPECT_THAT(message_of([&] { (void)archive.integer("step"); }), HasSubstr("4 bytes, not 8"));
}

}  // namespace
}  // namespace seam
