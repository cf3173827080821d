#include "stages/sampling/pairs.hpp"

#include <algorithm>
#include <seam/conformance.hpp>

#include "stages/pair_fields.hpp"
#include "tests/stages/sampling/sampler_testing.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::pairs_test {

const std::vector<std::int64_t> items{7, 7, 7, 3, 3, 9};  // 4 pairs of one item, 11 of two

TEST(PairSampler, BalancedPairsAreWhatTheySay) {
  const PairSampler sampler(items);
  std::map<std::pair<std::int64_t, std::int64_t>, int> drawn;
  int same_first = 0;
  for (std::uint64_t number = 0; number < 6000; number += 2) {
    const Pair a = sampler.draw(1, 2, 3, number);
    const Pair b = sampler.draw(1, 2, 3, number + 1);
    EXPECT_NE(a.same, b.same);
    same_first += a.same ? 1 : 0;
    for (const Pair& pair : {a, b}) {
      EXPECT_NE(pair.first, pair.second);
      EXPECT_EQ(pair.same, items[pair.first] == items[pair.second]);
      ++drawn[{pair.first, pair.second}];
    }
  }
  EXPECT_NEAR(same_first, 1500, 150);
  EXPECT_EQ(drawn.size(), 8U + 22U);  // each pair both ways
  // One of five images that have a partner, then one of its partners: 1/10 of 3,000, or 1/5.
  EXPECT_NEAR((drawn[{0, 1}]), 300, 80);
  EXPECT_NEAR((drawn[{3, 4}]), 600, 110);
}

TEST(PairSampler, DistinctPairsAreHalfAndHalfAndNeverTwice) {
  const PairSampler sampler(items);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Pair> pairs = sampler.distinct(8, seed);
    ASSERT_EQ(pairs.size(), 8U);
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (std::size_t at = 0; at < pairs.size(); ++at) {
      EXPECT_EQ(pairs[at].same, at % 2 == 0);
      EXPECT_EQ(pairs[at].same, items[pairs[at].first] == items[pairs[at].second]);
      EXPECT_TRUE(seen.insert(std::minmax(pairs[at].first, pairs[at].second)).second);
    }
  }
  EXPECT_EQ(sampler.distinct(6, 1), sampler.distinct(6, 1));
  EXPECT_NE(sampler.distinct(6, 1), sampler.distinct(6, 2));
  EXPECT_THAT(test::error_of([&] { return sampler.distinct(10, 0); }),
              AllOf(HasSubstr("4 pairs of one item and 11 of two"), HasSubstr("at most 8")));
  EXPECT_THAT(test::error_of([&] { return sampler.distinct(3, 0); }), HasSubstr("must be even"));
}

TEST(PairSampler, DrawsTheSamePairsInEveryRelease) {
  const PairSampler sampler(items);
  const std::vector<Pair> balanced{{1, 2, true}, {0, 4, false}, {0, 2, true}, {1, 3, false}};
  for (std::size_t number = 0; number < 4; ++number) {
    EXPECT_EQ(sampler.draw(1, 2, 3, number), balanced[number]);
  }
  const std::vector<Pair> once{{0, 1, true}, {2, 3, false}, {3, 4, true}, {4, 5, false}};
  const std::vector<Pair> distinct = sampler.distinct(8, 1);
  EXPECT_EQ(std::vector<Pair>(distinct.begin(), distinct.begin() + 4), once);
}

TEST(PairSampler, AllPairs) {
  const PairSampler sampler(items);
  const std::vector<Pair> pairs = sampler.all();
  EXPECT_EQ(pairs.size(), 15U);
  EXPECT_EQ(std::count_if(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.same; }),
            sampler.same_pairs());
  EXPECT_EQ(sampler.same_pairs(), 4);
  EXPECT_EQ(sampler.other_pairs(), 11);
  EXPECT_EQ(pairs.front(), (Pair{0, 1, true}));
  EXPECT_EQ(pairs.back(), (Pair{4, 5, false}));
}

TEST(PairSampler, NeedsBothKinds) {
  const std::vector<std::int64_t> one{1, 1, 1};
  const std::vector<std::int64_t> lone{1, 2, 3};
  EXPECT_THAT(test::error_of([&] { return PairSampler(one); }), HasSubstr("at least two items"));
  EXPECT_THAT(test::error_of([&] { return PairSampler(lone); }),
              HasSubstr("no item has two images"));
}

std::vector<Packet> six_images() {
  return test::images_of_items(6, 3);
}

/// (index, group, same_item) of everything that came out.
using Sent = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

Sent run(const std::vector<std::pair<std::string, std::string>>& parameters, std::uint64_t seed = 1,
         std::int64_t epoch = 0, const std::filesystem::path& folder = {}) {
  testing::Harness harness("pairs", std::make_unique<DrawnPairs>());
  for (const auto& [key, value] : parameters) harness.set(key, value.c_str());
  harness.seed(seed).epoch(epoch).run_directory(folder);
  harness.push_all(six_images()).finish();
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  for (const Packet& packet : harness.outputs()) EXPECT_EQ(packet.get(field::group_size), 2);
  return test::sent(harness, field::same_item);
}

std::string refused(const std::vector<std::pair<std::string, Value>>& parameters) {
  testing::Harness harness("pairs", std::make_unique<DrawnPairs>());
  for (const auto& [key, value] : parameters) harness.set(key, value);
  return test::error_of_epoch(harness, six_images());
}

const auto conformance = testing::conformance<DrawnPairs>({
    .packets = [](testing::Harness&) { return six_images(); },
});
const auto conformance_once = testing::conformance<DrawnPairs>({
    .name = "once",
    .parameters = {{"pairs", std::string("once")}},
    .packets = [](testing::Harness&) { return six_images(); },
});

TEST(PairsStage, SendsTwoPicturesAPair) {
  const Sent out = run({});
  ASSERT_THAT(out, SizeIs(12));  // as many pairs as images
  for (std::size_t at = 0; at < out.size(); at += 2) {
    const auto [first, group, same] = out[at];
    const auto [second, same_group, same_again] = out[at + 1];
    EXPECT_EQ(group, static_cast<std::int64_t>(at / 2));
    EXPECT_EQ(same_group, group);
    EXPECT_EQ(same_again, same);
    EXPECT_NE(first, second);
    EXPECT_EQ(same == 1, first % 3 == second % 3);
  }
}

TEST(PairsStage, EachSeedAndEpochHasItsPairsUnlessDrawnOnce) {
  const Sent once = run({{"pairs", "once"}}, 1, 0);
  EXPECT_THAT(once, SizeIs(2 * 6));  // three pairs of one item, three of two
  EXPECT_EQ(run({{"pairs", "once"}}, 2, 7), once);
  EXPECT_THAT(run({{"pairs", "all"}}), SizeIs(2 * 15));
  EXPECT_NE(run({}, 1, 4), run({}, 1, 5));
  EXPECT_NE(run({}, 1, 4), run({}, 2, 4));
}

TEST(PairsStage, PairsDrawnOnceAreWritten) {
  const test::TemporaryFolder folder;
  const Sent once = run({{"pairs", "once"}}, 1, 0, folder.path());
  std::string expected = "pair,same,first,second,first_item,second_item\n";
  for (std::size_t at = 0; at < once.size(); at += 2) {
    const std::int64_t first = std::get<0>(once[at]);
    const std::int64_t second = std::get<0>(once[at + 1]);
    expected += std::to_string(at / 2) + "," + std::to_string(std::get<2>(once[at])) + ",image " +
                std::to_string(first) + ",image " + std::to_string(second) + ",id_" +
                std::to_string(first % 3) + ",id_" + std::to_string(second % 3) + "\n";
  }
  EXPECT_EQ(test::text_of_file(folder.path() / "pairs/pairs.csv"), expected);
}

TEST(PairsStage, PairsDrawnOnceDependOnNamesAndNotOnTheOrderOfRows) {
  using Names = std::pair<std::string, std::string>;
  const auto pairs = [](const std::vector<std::size_t>& order, const std::string& prefix) {
    testing::Harness harness("pairs", std::make_unique<DrawnPairs>());
    harness.set("pairs", "once");
    // A change of names that keeps their order leaves the pairs as they are.
    std::vector<Packet> rows = test::images_of_items(12, 4);
    std::vector<Packet> images;
    for (const std::size_t row : order) {
      Packet image(Origin{nullptr, 0, prefix + std::to_string(row) + ".jpg"});
      image.set(field::item, rows[row].get(field::item));
      image.set(field::index, static_cast<std::int64_t>(images.size()));
      images.push_back(std::move(image));
    }
    harness.push_all(std::move(images)).finish();
    EXPECT_TRUE(harness.errors().empty());
    std::vector<Names> names;
    for (std::size_t at = 0; at + 1 < harness.outputs().size(); at += 2) {
      names.emplace_back(harness.outputs()[at].origin().item.substr(prefix.size()),
                         harness.outputs()[at + 1].origin().item.substr(prefix.size()));
    }
    return names;
  };
  const std::vector<std::size_t> plain{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<std::size_t> shuffled{7, 2, 11, 0, 5, 9, 1, 10, 3, 8, 6, 4};
  const std::vector<Names> drawn = pairs(plain, "s");
  EXPECT_THAT(drawn, SizeIs(24));  // 12 pairs of one item and as many of two
  EXPECT_EQ(pairs(shuffled, "s"), drawn);
  EXPECT_EQ(pairs(shuffled, "s2/"), drawn);
  // As PairSampler draws them for rows in this order, in which 2 is before 10.
  std::vector<std::int64_t> of_rows;
  for (const std::size_t row : plain) of_rows.push_back(static_cast<std::int64_t>(row % 4));
  const std::vector<Pair> expected = PairSampler(of_rows).distinct(24, 0);
  for (std::size_t at = 0; at < drawn.size(); ++at) {
    EXPECT_EQ(drawn[at], (Names{std::to_string(expected[at].first) + ".jpg",
                                std::to_string(expected[at].second) + ".jpg"}));
  }
}

TEST(PairsStage, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refused({{"pairs", std::string("all")}, {"count", std::int64_t{4}}}),
              HasSubstr("has no effect with pairs = \"all\""));
  EXPECT_THAT(refused({{"pairs", std::string("once")}, {"count", std::int64_t{8}}}),
              HasSubstr("draw at most 6"));
}

}  // namespace seam::stages::pairs_test
