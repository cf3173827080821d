#include "stages/sampling/pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stages/pair_fields.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages {
namespace pairs_test {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Six images of three items.
std::vector<Packet> six_images() {
  std::vector<Packet> images;
  for (int i = 0; i < 6; ++i) {
    Packet packet(Origin{nullptr, i + 1, "image " + std::to_string(i)});
    packet.set(field::item, "id_" + std::to_string(i % 3));
    packet.set(field::index, std::int64_t{i});
    images.push_back(std::move(packet));
  }
  return images;
}

void push_images(testing::Harness& harness) {
  for (Packet& packet : six_images()) harness.push(std::move(packet));
}

/// (index, group, same_item) of everything that came out.
using Sent = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;
Sent sent(const testing::Harness& harness) {
  Sent out;
  for (const Packet& packet : harness.outputs()) {
    out.emplace_back(packet.get(field::index), packet.get(field::group),
                     packet.get(field::same_item));
  }
  return out;
}

Sent run(const std::vector<std::pair<std::string, std::string>>& parameters, std::uint64_t seed = 1,
         std::int64_t epoch = 0, const std::filesystem::path& folder = {}) {
  testing::Harness harness("pairs", std::make_unique<DrawnPairs>());
  for (const auto& [key, value] : parameters) harness.set(key, value.c_str());
  harness.seed(seed).epoch(epoch).run_directory(folder);
  push_images(harness);
  harness.finish();
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  return sent(harness);
}

std::string refused(const std::vector<std::pair<std::string, Value>>& parameters) {
  try {
    testing::Harness harness("pairs", std::make_unique<DrawnPairs>());
    for (const auto& [key, value] : parameters) harness.set(key, value);
    push_images(harness);
    harness.finish();
    return harness.errors().empty() ? "no error" : harness.errors()[0].full_message();
  } catch (const Error& error) {
    return error.full_message();
  }
}

const auto conformance = testing::conformance<DrawnPairs>({
    .packets = [](testing::Harness&) { return six_images(); },
    .given = {{"pair_seed", {{"pairs", std::string("once")}}}},
});
const auto conformance_once = testing::conformance<DrawnPairs>({
    .name = "once",
    .parameters = {{"pairs", std::string("once")}},
    .packets = [](testing::Harness&) { return six_images(); },
    .refused = {{{"list", std::string("pairs.csv")}}, {{"rule", std::string("released")}}},
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

TEST(PairsStage, TheSameSeedAndEpochGiveTheSamePairs) {
  EXPECT_EQ(run({}, 1, 4), run({}, 1, 4));
  EXPECT_NE(run({}, 1, 4), run({}, 1, 5));
  EXPECT_NE(run({}, 1, 4), run({}, 2, 4));
}

TEST(PairsStage, PairsDrawnOnceAreThoseOfEveryEpochAndRun) {
  const Sent once = run({{"pairs", "once"}}, 1, 0);
  EXPECT_THAT(once, SizeIs(2 * 6));  // three pairs of one item, three of two
  EXPECT_EQ(run({{"pairs", "once"}}, 2, 7), once);
}

TEST(PairsStage, PairsDrawnOnceAreWrittenAndCanBeReadBack) {
  const test::TemporaryFolder folder;
  const Sent once = run({{"pairs", "once"}}, 1, 0, folder.path());
  const std::string file = (folder.path() / "pairs/pairs.csv").string();
  EXPECT_EQ(run({{"pairs", "list"}, {"list", file}}), once);
}

TEST(PairsStage, AllPairs) {
  EXPECT_THAT(run({{"pairs", "all"}}), SizeIs(2 * 15));
}

TEST(PairsStage, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refused({{"pairs", std::string("list")}}), HasSubstr("'list' is not set"));
  EXPECT_THAT(refused({{"list", std::string("a.csv")}}), HasSubstr("pairs is not \"list\""));
  EXPECT_THAT(refused({{"pairs", std::string("list")}, {"list", std::string("nowhere.csv")}}),
              HasSubstr("'nowhere.csv' cannot be read"));
  EXPECT_THAT(refused({{"pairs", std::string("all")}, {"count", std::int64_t{4}}}),
              HasSubstr("'count' has no effect"));
  EXPECT_THAT(refused({{"pairs", std::string("once")}, {"count", std::int64_t{8}}}),
              HasSubstr("draw at most 6"));
  EXPECT_THAT(refused({{"pairs", std::string("once")}, {"rule", std::string("released")}}),
              HasSubstr("each_epoch"));
}

}  // namespace pairs_test
}  // namespace seam::stages
