#include "stages/dataset/lfw_pairs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <string>
#include <vector>

#include "stages/pair_fields.hpp"
#include "tests/stages/dataset/lfw_folder.hpp"

namespace seam::stages {
namespace lfw_pairs_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<void> connect_pairs(testing::Harness& harness) {
  auto folder = shared_folder(&write_faces);
  harness.set("root", (folder->path() / "lfw").string());
  harness.set("list", (folder->path() / "pairs.txt").string());
  return folder;
}

const auto conformance = testing::conformance<LfwPairs>({
    .parameters = {{"root", std::string("nowhere")}, {"list", std::string("nowhere")}},
    .connect = &connect_pairs,
    .refused = {{{"fold", std::int64_t{1}}}, {{"part", std::string("train")}}},
});

class LfwPairsStage : public ::testing::Test {
 protected:
  LfwPairsStage() { write_faces(folder_); }
  [[nodiscard]] std::unique_ptr<testing::Harness> pairs() const {
    auto harness = std::make_unique<testing::Harness>("pairs", std::make_unique<LfwPairs>());
    harness->set("root", (folder_.path() / "lfw").string());
    harness->set("list", (folder_.path() / "pairs.txt").string());
    return harness;
  }
  TemporaryFolder folder_;
};

TEST_F(LfwPairsStage, PairsAreTwoPicturesInARow) {
  const auto harness = pairs();
  harness->set("expect", 8).produce();
  ASSERT_EQ(harness->outputs().size(), 16U);
  const Packet& first = harness->outputs()[6];
  const Packet& second = harness->outputs()[7];
  EXPECT_EQ(first.get(field::item), "Ann");
  EXPECT_EQ(second.get(field::item), "Bob");
  for (const Packet* packet : {&first, &second}) {
    EXPECT_EQ(packet->get(field::group), 3);
    EXPECT_EQ(packet->get(field::same_item), 0);
    EXPECT_EQ(packet->get(field::pair_fold), 0);
    EXPECT_EQ(packet->origin().line, 5);
  }
  EXPECT_EQ(second.get(field::path), folder_.path() / "lfw/Bob/Bob_0002.jpg");
  EXPECT_EQ(second.get(field::index), 7);
}

TEST_F(LfwPairsStage, FoldsOfTheListAreHeldOut) {
  const auto held_out = pairs();
  held_out->set("part", "held_out").set("fold", 1).produce();
  ASSERT_EQ(held_out->outputs().size(), 8U);
  EXPECT_EQ(held_out->outputs()[0].get(field::group), 4);
  const auto train = pairs();
  train->set("part", "train").set("fold", 1).produce();
  ASSERT_EQ(train->outputs().size(), 8U);
  for (const Packet& packet : train->outputs()) EXPECT_EQ(packet.get(field::pair_fold), 0);
  EXPECT_THAT(served_of(*train), ElementsAre("Ann", "Bob"));
  EXPECT_THAT(served_of(*held_out), ElementsAre("Cid", "Dee_Dee"));
}

TEST_F(LfwPairsStage, ShuffledPairsStayPairs) {
  const auto harness = pairs();
  harness->set("shuffle", true).seed(3).produce();
  std::vector<std::int64_t> order;
  for (std::size_t at = 0; at < 16; at += 2) {
    order.push_back(harness->outputs()[at].get(field::group));
    EXPECT_EQ(harness->outputs()[at + 1].get(field::group), order.back());
  }
  EXPECT_THAT(order, ::testing::Not(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  EXPECT_THAT(order, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(LfwPairsStage, PairsThatDoNotFitAreRefused) {
  EXPECT_THAT(error_of([&] { pairs()->set("expect", 6000).open(); }),
              HasSubstr("8 pairs, but 6,000 were expected"));
  EXPECT_THAT(error_of([&] { pairs()->set("part", "train").set("fold", 2).open(); }),
              HasSubstr("the list has 2 folds, counted from 0"));
  std::filesystem::remove(folder_.path() / "lfw/Dee_Dee/Dee_Dee_0003.jpg");
  EXPECT_THAT(error_of([&] { pairs()->open(); }), HasSubstr("pairs.txt:7: '"));
}

}  // namespace lfw_pairs_test
}  // namespace seam::stages
