#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <seam/packet.hpp>
#include <seam/refusal_testing.hpp>
#include <string>
#include <thread>
#include <vector>

namespace seam {

/// A value with rows, or without any.
struct Table {
  std::int64_t rows = -1;
};

template <>
struct FieldTraits<Table> {
  static std::size_t bytes(const Table& value) { return sizeof(value); }
  static std::string violation(const Table& /*value*/, std::string_view /*contract*/) { return {}; }
  static std::int64_t rows(const Table& value) { return value.rows; }
};

namespace packet_test {

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

// For ThreadSanitizer: only the count of owners shows that a value is no longer shared, so it must
// order the last owner's reads before the new writes.
TEST(Packet, IsChangedInPlaceOnlyAfterFormerOwnersHaveRead) {
  Packet packet;
  packet.set(numbers, {1, 2, 3});
  const auto* before = &packet.get(numbers);
  std::atomic<bool> gone = false;
  double sum = 0;
  std::thread reader([copy = packet, &sum, &gone]() mutable {
    sum = std::accumulate(copy.get(numbers).begin(), copy.get(numbers).end(), 0.0);
    copy = Packet();
    gone.store(true, std::memory_order_relaxed);  // orders nothing, as the count did
  });
  while (!gone.load(std::memory_order_relaxed)) std::this_thread::yield();
  packet[numbers].front() = 5;
  reader.join();
  EXPECT_EQ(&packet.get(numbers), before);
  EXPECT_EQ(packet.get(numbers), (std::vector<double>{5, 2, 3}));
  EXPECT_EQ(sum, 6);
}

TEST(Packet, AMissingFieldIsNamedWithThosePresent) {
  Packet packet;
  packet[caption] = "x";
  EXPECT_REFUSED((void)packet.get(numbers), Fault::internal,
                 "the packet has no field 'numbers'; it has caption");
}

TEST(Packet, AFieldOfAnotherTypeIsRefusedWithBothTypes) {
  Packet packet;
  packet[caption] = "x";
  const std::string says = "field 'caption' is of type std::string, not int";
  EXPECT_REFUSED((void)packet.get(caption_as_int), Fault::internal, says);
  EXPECT_REFUSED((void)packet[caption_as_int], Fault::internal, says);
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

TEST(Packet, CountsTheRowsOfFieldsWhoseFirstDimensionIsN) {
  Packet batch;
  EXPECT_EQ(batch.row_mismatch(), "");
  batch.set(field::indices, {1, 2, 3});
  batch.set(numbers, {1});  // its key declares no rows
  EXPECT_EQ(batch.row_mismatch(), "");
  batch.set(field::groups, {7});
  EXPECT_EQ(batch.row_mismatch(), "'indices' has 3 rows and 'groups' has 1 row");
  batch[field::groups].resize(3);
  EXPECT_EQ(batch.row_mismatch(), "");
  (void)batch[field::categories];  // made by reading: empty
  EXPECT_EQ(batch.row_mismatch(), "'indices' has 3 rows and 'categories' has 0 rows");
  batch.erase(field::categories);
  EXPECT_EQ(batch.row_mismatch(), "");
}

TEST(Packet, ACopyCountsItsRowsToo) {
  Packet batch;
  batch.set(field::indices, {1, 2, 3});
  Packet other;
  other.set(field::groups, {1});
  other.put(batch.slots().front());  // as a join does
  EXPECT_EQ(other.row_mismatch(), "'groups' has 1 row and 'indices' has 3 rows");
}

TEST(Packet, AValueThatShouldHaveRowsAndHasNoneIsAMismatch) {
  constexpr Field<Table> table{"table", "f32[N,3]"};
  Packet batch;
  batch.set(table, Table{2});
  batch.set(field::indices, {1, 2});
  EXPECT_EQ(batch.row_mismatch(), "");
  batch.set(table, Table{});
  EXPECT_EQ(batch.row_mismatch(), "'table' has no rows and 'indices' has 2 rows");
}

TEST(Field, IsByRowWhereItsFirstDimensionIsCalledN) {
  EXPECT_TRUE((Field<int>{"a", "*[N]"}.by_row()));
  EXPECT_TRUE((Field<int>{"a", "f32[N,...]"}.by_row()));
  EXPECT_FALSE((Field<int>{"a"}.by_row()));
  EXPECT_FALSE((Field<int>{"a", "f32[]"}.by_row()));
  EXPECT_FALSE((Field<int>{"a", "f32[M,N]"}.by_row()));
  EXPECT_FALSE((Field<int>{"a", "f32[3,N]"}.by_row()));
  EXPECT_FALSE((Field<int>{"a", "f32[NN]"}.by_row()));
}

TEST(TypeName, IsWhatTheCompilerSpells) {
  EXPECT_EQ(type_name<int>(), "int");
  EXPECT_NE(type_name<std::string>(), type_name<std::vector<char>>());
}

}  // namespace packet_test
}  // namespace seam
