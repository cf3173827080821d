#include "stages/loss/base/item_proxies.hpp"

#include <seam/error.hpp>

#include <string>
#include <utility>
#include <vector>

#include "stages/packed_numbers.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::item_proxies_test {

using New = ItemProxies::New;

TEST(ItemProxies, AreInOrderOfFirstAppearance) {
  ItemProxies proxies(4);
  EXPECT_THAT(proxies.number_of({"skirt", "dress", "skirt"}, New::join), ElementsAre(0, 1, 0));
  proxies.accept();
  EXPECT_THAT(proxies.number_of({"coat", "dress", "coat", "blazer"}, New::join),
              ElementsAre(2, 1, 2, 3));
  proxies.accept();
  EXPECT_EQ(proxies.left(), 0);
  EXPECT_THAT(proxies.number_of({"blazer", "skirt"}, New::refused), ElementsAre(3, 0));
}

TEST(ItemProxies, OfKnownItemsAreInOrderOfTheirNames) {
  ItemProxies proxies(4);
  proxies.assign({"skirt", "coat", "dress"});
  EXPECT_THAT(proxies.number_of({"skirt", "blazer", "coat"}, New::join), ElementsAre(2, 3, 0));
  proxies.accept();
  proxies.assign({"a", "b"});
  EXPECT_THAT(proxies.number_of({"coat", "dress", "skirt", "blazer"}, New::join),
              ElementsAre(0, 1, 2, 3))
      << "items keep their proxies";
}

TEST(ItemProxies, AreTrainedOnceABatchWithTheirItemIsAccepted) {
  ItemProxies proxies(4);
  proxies.assign({"skirt", "coat", "dress"});
  EXPECT_EQ(proxies.left(), 4);
  (void)proxies.number_of({"skirt", "coat"}, New::join);
  proxies.accept();
  (void)proxies.number_of({"dress"}, New::join);
  EXPECT_THAT(proxies.number_of({"skirt", "coat"}, New::refused), ElementsAre(2, 0));
  proxies.accept();  // nothing: an evaluation trains no proxy, and the batch before was skipped
  EXPECT_EQ(proxies.left(), 2);
  EXPECT_EQ(proxies.first_untrained(), "dress");
  Archive archive;
  proxies.save(archive);
  ItemProxies again(4);
  again.load(archive);
  for (ItemProxies* each : {&proxies, &again}) {
    EXPECT_THAT(each->number_of({"coat", "dress"}, New::refused), ElementsAre(0, 1));
    EXPECT_THAT(each->number_of({"dress", "blazer"}, New::join), ElementsAre(1, 3));
    each->accept();
    EXPECT_EQ(each->left(), 0);
    EXPECT_EQ(each->first_untrained(), "");
    EXPECT_THAT(each->number_of({"dress"}, New::refused), ElementsAre(1));
  }
}

TEST(ItemProxies, OfACheckpointThatDoesNotSayWhichAreTrainedAllAre) {
  ItemProxies proxies(2);
  (void)proxies.number_of({"a"}, New::join);
  proxies.accept();
  Archive saved;
  proxies.save(saved);
  Archive old;
  for (const auto& [name, entry] : saved.entries()) {
    if (name != "untrained") old.put(name, entry);
  }
  ItemProxies again(2);
  again.load(old);
  EXPECT_THAT(again.number_of({"a"}, New::refused), ElementsAre(0));
}

TEST(ItemProxies, MoreKnownItemsThanProxiesAreNumberedAsTheyAppear) {
  ItemProxies proxies(2);
  proxies.assign({"a", "b", "c"});
  EXPECT_THAT(proxies.number_of({"c", "a"}, New::join), ElementsAre(0, 1));
}

TEST(ItemProxies, ABatchThatDoesNotCountLeavesNothingBehind) {
  ItemProxies proxies(2);
  EXPECT_THAT(proxies.number_of({"a", "b"}, New::join), ElementsAre(0, 1));
  EXPECT_THAT(proxies.number_of({"c"}, New::join), ElementsAre(0));
  proxies.accept();
  proxies.accept();
  EXPECT_EQ(proxies.left(), 1);
  EXPECT_THAT(proxies.number_of({"b", "c"}, New::join), ElementsAre(1, 0));
  EXPECT_REFUSED((void)proxies.number_of({"b", "d"}, New::join), Fault::configuration,
                 "all 2 belong to other items");
  proxies.accept();
  EXPECT_EQ(proxies.left(), 1) << "items of the rejected batch are not kept";
}

TEST(ItemProxies, AnItemWithoutOneIsNamed) {
  ItemProxies proxies(2);
  EXPECT_REFUSED((void)proxies.number_of({"a", "b", "c"}, New::join), Fault::configuration,
                 "item 'c' has no proxy: all 2 belong to other items; set `items`");
  EXPECT_REFUSED((void)proxies.number_of({"a"}, New::refused), Fault::data,
                 "item 'a' has no trained proxy: it has not occurred in any training batch");
}

Archive saved(const std::vector<std::string>& items, std::int64_t count) {
  ItemProxies proxies(count);
  (void)proxies.number_of(items, New::join);
  proxies.accept();
  Archive archive;
  proxies.save(archive);
  return archive;
}

TEST(ItemProxies, AreRestoredWithWhateverNames) {
  const std::string odd("a\0b\n", 4);
  for (const std::vector<std::string>& items :
       {std::vector<std::string>{}, {"b", "a"}, {odd, "a", "\xff"}}) {
    const Archive archive = saved(items, 4);
    ItemProxies proxies(4);
    (void)proxies.number_of({"forgotten"}, New::join);
    proxies.accept();
    proxies.load(archive);
    EXPECT_EQ(proxies.left(), 4 - static_cast<std::int64_t>(items.size()));
    const std::vector<std::int64_t> numbers = proxies.number_of(items, New::refused);
    for (std::size_t at = 0; at < items.size(); ++at) {
      EXPECT_EQ(numbers[at], static_cast<std::int64_t>(at));
    }
    Archive again;
    proxies.save(again);
    EXPECT_EQ(again, archive);
  }
}

TEST(ItemProxies, ADamagedStateIsRefusedAndChangesNothing) {
  Archive longer = saved({"a", "bc"}, 2);
  longer.put("items", "abcd");
  Archive shorter = saved({"a", "bc"}, 2);
  shorter.put("items", "ab");
  Archive doubled = saved({"a", "b"}, 2);
  doubled.put("items", "aa");
  Archive untrained = saved({"a"}, 2);
  put_numbers(untrained, "untrained", {1});
  const std::vector<std::pair<Archive, std::string>> damages{
      {saved({"a", "b", "c"}, 3), "do not fit 2 proxies"},
      {Archive(), "item_lengths"},
      {longer, "do not fit 2 proxies"},
      {shorter, "do not have the saved lengths"},
      {doubled, "item 'a' has two saved proxies"},
      {untrained, "an untrained item 1 of 1"}};
  for (const auto& [damaged, said] : damages) {
    const Archive& archive = damaged;  // Clang 14 cannot capture the name of a binding
    ItemProxies proxies(2);
    (void)proxies.number_of({"kept"}, New::join);
    proxies.accept();
    EXPECT_REFUSED(proxies.load(archive), Fault::data, said);
    EXPECT_THAT(proxies.number_of({"kept"}, New::refused), ElementsAre(0));
  }
}

}  // namespace seam::stages::item_proxies_test
