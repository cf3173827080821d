#include <cmath>
#include <limits>
#include <seam/archive.hpp>
#include <seam/error.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"

namespace seam::archive_test {

using test::message_of;

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

/// The error of putting an entry; empty if it is accepted.
std::string refusal(const std::string& type, std::vector<std::int64_t> shape, std::size_t bytes) {
  return message_of([&] {
    Archive().put("step", Archive::Entry{type, std::move(shape), std::vector<std::byte>(bytes)});
  });
}

TEST(Archive, TakesOnlyEntriesWhoseBytesAreThoseOfTypeAndShape) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> deep(65, 1);
  const std::vector<std::int64_t> deepest_accepted(64, 1);
  EXPECT_EQ(refusal("f32", {2, 3}, 24), "");
  EXPECT_EQ(refusal("f32", {0, 3}, 0), "");
  EXPECT_EQ(refusal("ComplexFloat", {2}, 16), "");
  EXPECT_EQ(refusal("u8", deepest_accepted, 1), "");
  EXPECT_THAT(refusal("i64", {}, 4), HasSubstr("has 4 bytes, but i64[] takes 8"));
  EXPECT_THAT(refusal("f32", {2, 3}, 6), HasSubstr("has 6 bytes, but f32[2,3] takes 24"));
  EXPECT_THAT(refusal("f32", {-1, -6}, 24), HasSubstr("a negative size"));
  EXPECT_THAT(refusal("f32", {huge / 4 + 1}, 0), HasSubstr("more than memory can hold"));
  EXPECT_THAT(refusal("u8", {huge, huge}, 1), HasSubstr("more than memory can hold"));
  EXPECT_THAT(refusal("u8", {0, huge, huge}, 0), HasSubstr("more than memory can hold"));
  EXPECT_THAT(refusal("u8", deep, 1), HasSubstr("65 dimensions"));
  EXPECT_THAT(refusal("f31", {2}, 8), HasSubstr("unknown type 'f31'"));
}

TEST(Archive, AListIsNoNumberAndNoText) {
  Archive archive;
  archive.put("step", Archive::Entry{"i64", {1}, std::vector<std::byte>(8)});
  archive.put("name", Archive::Entry{"text", {1, 3}, std::vector<std::byte>(3)});
  EXPECT_THAT(message_of([&] { (void)archive.integer("step"); }), HasSubstr("shape [1]"));
  EXPECT_THAT(message_of([&] { (void)archive.text("name"); }), HasSubstr("shape [1,3]"));
}

}  // namespace seam::archive_test
