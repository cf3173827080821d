#include "stages/dataset/folds.hpp"

#include <gtest/gtest.h>

#include <seam/refusal_testing.hpp>
#include <set>

namespace seam::stages::folds_test {

std::vector<std::string> some_items(int count, int images) {
  std::vector<std::string> items;
  for (int i = 0; i < count * images; ++i) items.push_back("item " + std::to_string(i % count));
  return items;
}

TEST(Folds, KeepAnItemTogether) {
  const std::vector<std::string> items = some_items(23, 4);
  const std::vector<int> folds = folds_of(items, 5, 1);
  std::map<std::string, std::set<int>> of_item;
  std::map<int, std::set<std::string>> of_fold;
  for (std::size_t row = 0; row < items.size(); ++row) {
    of_item[items[row]].insert(folds[row]);
    of_fold[folds[row]].insert(items[row]);
  }
  for (const auto& [item, seen] : of_item) EXPECT_EQ(seen.size(), 1U) << item;
  ASSERT_EQ(of_fold.size(), 5U);
  for (const auto& [fold, seen] : of_fold) {
    EXPECT_GE(seen.size(), 4U) << fold;
    EXPECT_LE(seen.size(), 5U) << fold;
  }
}

TEST(Folds, DependOnNamesAndSeedAlone) {
  const std::vector<std::string> items = some_items(20, 2);
  std::vector<std::string> reversed(items.rbegin(), items.rend());
  const std::vector<int> folds = folds_of(items, 4, 9);
  std::vector<int> of_reversed = folds_of(reversed, 4, 9);
  EXPECT_EQ(folds, std::vector<int>(of_reversed.rbegin(), of_reversed.rend()));
  EXPECT_NE(folds, folds_of(items, 4, 10));
}

TEST(Folds, NeedAsManyItemsAndLeaveSome) {
  EXPECT_REFUSED((void)folds_of(some_items(3, 5), 4, 0), Fault::configuration,
                 "3 items, too few for 4 folds");
  EXPECT_NO_THROW(static_cast<void>(held_out(some_items(3, 5), 2, 0)));
  EXPECT_REFUSED((void)held_out(some_items(3, 5), 3, 0), Fault::configuration,
                 "3 items, and hold_out is 3: no item would be left");
}

TEST(HeldOut, AreSoManyItemsWithAllTheirPictures) {
  const std::vector<std::string> items = some_items(23, 4);
  const std::vector<bool> held = held_out(items, 7, 1);
  std::set<std::string> out;
  std::set<std::string> kept;
  for (std::size_t row = 0; row < items.size(); ++row) {
    (held[row] ? out : kept).insert(items[row]);
  }
  EXPECT_EQ(out.size(), 7U);
  EXPECT_EQ(kept.size(), 16U);
  for (const std::string& item : out) EXPECT_FALSE(kept.contains(item)) << item;
}

TEST(HeldOut, DependOnNamesAndSeedAlone) {
  const std::vector<std::string> items = some_items(20, 2);
  const std::vector<std::string> reversed(items.rbegin(), items.rend());
  const std::vector<bool> held = held_out(items, 5, 9);
  const std::vector<bool> of_reversed = held_out(reversed, 5, 9);
  EXPECT_EQ(held, std::vector<bool>(of_reversed.rbegin(), of_reversed.rend()));
  EXPECT_NE(held, held_out(items, 5, 10));
}

}  // namespace seam::stages::folds_test
