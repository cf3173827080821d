#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <seam/packet.hpp>
#include <string>
#include <vector>

namespace seam {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Field<std::string> caption{"caption"};
constexpr Field<std::vector<double>> numbers{"numbers"};
constexpr Field<int> caption_as_int{"caption"};

TEST(Packet, HoldsFieldsByNameAndType) {
  Packet packet;
  packet[caption] = "a red coat";
  EXPECT_TRUE(packet.has(caption));
  EXPECT_FALSE(packet.has(numbers));
  EXPECT_EQ(packet.get(caption), "a red coat");
}

TEST(Packet, ACopySharesValuesUntilOneIsChanged) {
  Packet packet;
  packet.set(numbers, {1, 2, 3});
  Packet copy = packet;
  EXPECT_EQ(&packet.get(numbers), &copy.get(numbers));
  copy[numbers].push_back(4);
  EXPECT_EQ(packet.get(numbers).size(), 3U);
  EXPECT_EQ(copy.get(numbers).size(), 4U);
}

TEST(Packet, AnUnsharedValueIsChangedInPlace) {
  Packet packet;
  packet.set(numbers, {1, 2, 3});
  const auto* before = &packet.get(numbers);
  packet[numbers].front() = 5;
  EXPECT_EQ(&packet.get(numbers), before);
}

TEST(Packet, AMissingFieldIsNamedWithThosePresent) {
  Packet packet;
  packet[caption] = "x";
  try {
    (void)packet.get(numbers);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'numbers'"), HasSubstr("caption")));
  }
}

TEST(Packet, AFieldOfAnotherTypeIsRefusedWithBothTypes) {
  Packet packet;
  packet[caption] = "x";
  EXPECT_THROW((void)packet.get(caption_as_int), Error);
  EXPECT_THROW((void)packet[caption_as_int], Error);
  EXPECT_EQ(packet.get(caption), "x");
}

TEST(Packet, ErasingFreesTheValueButNotTheCopies) {
  Packet packet;
  packet.set(numbers, {1});
  const Packet copy = packet;
  packet.erase(numbers);
  EXPECT_FALSE(packet.has(numbers));
  EXPECT_EQ(copy.get(numbers).front(), 1);
}

TEST(Packet, CountsTheBytesOfItsValues) {
  Packet packet;
  const std::size_t empty = packet.bytes();
  packet.set(numbers, std::vector<double>(1000));
  EXPECT_GE(packet.bytes(), empty + 8000);
  EXPECT_LT(packet.bytes(), empty + 9000);
}

TEST(Packet, PutReplacesAFieldOfTheSameName) {
  Packet one;
  one[caption] = "one";
  Packet two;
  two[caption] = "two";
  one.put(two.slots().front());
  EXPECT_EQ(one.get(caption), "two");
  EXPECT_EQ(one.slots().size(), 1U);
}

TEST(TypeName, IsWhatTheCompilerSpells) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_NE(type_name<std::string>(), type_name<std::vector<char>>());
}

}  // namespace
}  // namespace seam
