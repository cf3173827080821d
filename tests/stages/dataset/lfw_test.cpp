#include "stages/dataset/lfw.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <set>
#include <string>
#include <vector>

#include "stages/dataset/lfw_pairs.hpp"
#include "stages/pair_fields.hpp"
#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two folds of two pairs of each kind.
const std::string two_folds =
    "2\t2\n"
    "Ann\t1\t2\nBob\t1\t2\nAnn\t1\tBob\t1\nAnn\t2\tBob\t2\n"
    "Cid\t1\t2\nDee_Dee\t1\t3\nCid\t1\tDee_Dee\t1\nCid\t2\tDee_Dee\t2\n";

std::string refused(const std::string& text) {
  return error_of([&] { static_cast<void>(parse_lfw_pairs({"pairs.txt", text})); });
}

/// The text without a line, from 1.
std::string without_line(std::string text, int line) {
  std::size_t begin = 0;
  for (int at = 1; at < line; ++at) begin = text.find('\n', begin) + 1;
  return text.erase(begin, text.find('\n', begin) + 1 - begin);
}

TEST(LfwPairList, FoldsOfPairs) {
  const LfwPairList list = parse_lfw_pairs({"pairs.txt", two_folds});
  EXPECT_EQ(list.folds, 2);
  ASSERT_EQ(list.pairs.size(), 8U);
  EXPECT_TRUE(list.pairs[1].same());
  EXPECT_EQ(list.pairs[1].first.path(), "Bob/Bob_0001.jpg");
  EXPECT_FALSE(list.pairs[3].same());
  EXPECT_EQ(list.pairs[3].second.path(), "Bob/Bob_0002.jpg");
  EXPECT_EQ(list.pairs[3].fold, 0);
  EXPECT_EQ(list.pairs[4].fold, 1);
  EXPECT_EQ(list.pairs[4].line, 6);
  EXPECT_EQ(list.pairs[5].second.path(), "Dee_Dee/Dee_Dee_0003.jpg");
}

TEST(LfwPairList, OfView1HasOneCount) {
  const LfwPairList list = parse_lfw_pairs({"dev.txt", "1\r\nAnn 1 2\r\nAnn 1 Bob 1\r\n\r\n"});
  EXPECT_EQ(list.folds, 1);
  EXPECT_EQ(list.pairs.size(), 2U);
}

TEST(LfwPairList, ALineTooFewOrTooManyIsFound) {
  EXPECT_THAT(
      refused(without_line(two_folds, 9)),
      HasSubstr("pairs.txt:8: the list ends behind 7 pairs, but the first line promises 8"));
  EXPECT_THAT(
      refused(without_line(two_folds, 2)),
      HasSubstr("pairs.txt:3: a pair of two persons where pair 2 of 2 of one person of fold "
                "1 is expected"));
  EXPECT_THAT(refused(without_line(two_folds, 5)), HasSubstr("pairs.txt:5: a pair of one person"));
  EXPECT_THAT(refused(without_line(two_folds, 1)),
              HasSubstr("pairs.txt:1: the first line is a pair"));
  EXPECT_THAT(refused(two_folds + "Cid\t1\t4\n"), HasSubstr("pairs.txt:10: a further pair"));
  EXPECT_THAT(refused("3\t2\n" + without_line(two_folds, 1)),
              HasSubstr("promises 12, 3 folds of 2"));
  EXPECT_THAT(refused(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refused("ten\n"), HasSubstr("the first line is 'ten'"));
  EXPECT_THAT(refused("0\n"), HasSubstr("the first line is '0'"));
}

TEST(LfwPairList, NoPairIsRefused) {
  EXPECT_THAT(refused("1\nAnn 1\nAnn 1 Bob 1\n"), HasSubstr("pairs.txt:2: 2 columns"));
  EXPECT_THAT(refused("1\nAnn 1 x\nAnn 1 Bob 1\n"), HasSubstr("'x' is no image's number"));
  EXPECT_THAT(refused("1\nAnn 1 0\nAnn 1 Bob 1\n"), HasSubstr("'0' is no image's number"));
  EXPECT_THAT(refused("1\nAnn 1 1\nAnn 1 Bob 1\n"), HasSubstr("has one image twice"));
  EXPECT_THAT(refused("1\nAnn 1 2\nAnn 1 Ann 2\n"), HasSubstr("names 'Ann' twice"));
  EXPECT_THAT(refused("2\nAnn 1 2\nAnn 2 1\n"),
              HasSubstr("pairs.txt:3: the pair is in line 2 too"));
  EXPECT_THAT(refused("1\n../x 1 2\nAnn 1 Bob 1\n"), HasSubstr("no person's name"));
  EXPECT_THAT(refused("1\nAnn 1 2\n\nAnn 1 Bob 1\n"), HasSubstr("pairs.txt:3: the line is blank"));
}

void write_faces(const TemporaryFolder& folder) {
  for (const char* file :
       {"Ann/Ann_0001.jpg", "Ann/Ann_0002.jpg", "Bob/Bob_0001.jpg", "Bob/Bob_0002.jpg",
        "Cid/Cid_0001.jpg", "Cid/Cid_0002.jpg", "Dee_Dee/Dee_Dee_0001.jpg",
        "Dee_Dee/Dee_Dee_0002.jpg", "Dee_Dee/Dee_Dee_0003.jpg"}) {
    write_file(folder.path() / "lfw" / file, "pixels");
  }
  write_file(folder.path() / "pairs.txt", two_folds);
}

std::shared_ptr<void> connect_pairs(testing::Harness& harness) {
  auto folder = shared_folder(&write_faces);
  harness.set("root", (folder->path() / "lfw").string());
  harness.set("list", (folder->path() / "pairs.txt").string());
  return folder;
}

const auto conformance = testing::conformance<Lfw>({
    .parameters = {{"root", std::string("nowhere")}, {"expect", std::int64_t{0}}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder(&write_faces);
          harness.set("root", (folder->path() / "lfw").string());
          return folder;
        },
    .refused = {{{"leave_out_fold", std::int64_t{1}}}, {{"fold", std::int64_t{1}}}},
});
const auto conformance_of_pairs = testing::conformance<LfwPairs>({
    .parameters = {{"root", std::string("nowhere")}, {"list", std::string("nowhere")}},
    .connect = &connect_pairs,
    .refused = {{{"fold", std::int64_t{1}}}, {{"part", std::string("train")}}},
});

class LfwStages : public ::testing::Test {
 protected:
  LfwStages() { write_faces(folder_); }
  [[nodiscard]] std::unique_ptr<testing::Harness> pairs() const {
    auto harness = std::make_unique<testing::Harness>("pairs", std::make_unique<LfwPairs>());
    harness->set("root", (folder_.path() / "lfw").string());
    harness->set("list", (folder_.path() / "pairs.txt").string());
    return harness;
  }
  [[nodiscard]] std::unique_ptr<testing::Harness> images() const {
    auto harness = std::make_unique<testing::Harness>("images", std::make_unique<Lfw>());
    harness->set("root", (folder_.path() / "lfw").string()).set("expect", 9);
    return harness;
  }
  TemporaryFolder folder_;
};

TEST_F(LfwStages, PairsAreTwoPicturesInARow) {
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

TEST_F(LfwStages, FoldsOfTheListAreHeldOut) {
  const auto held_out = pairs();
  held_out->set("part", "held_out").set("fold", 1).produce();
  ASSERT_EQ(held_out->outputs().size(), 8U);
  EXPECT_EQ(held_out->outputs()[0].get(field::group), 4);
  const auto train = pairs();
  train->set("part", "train").set("fold", 1).produce();
  ASSERT_EQ(train->outputs().size(), 8U);
  for (const Packet& packet : train->outputs()) EXPECT_EQ(packet.get(field::pair_fold), 0);
}

TEST_F(LfwStages, ShuffledPairsStayPairs) {
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

TEST_F(LfwStages, PairsThatDoNotFitAreRefused) {
  EXPECT_THAT(error_of([&] { pairs()->set("expect", 6000).open(); }),
              HasSubstr("8 pairs, but 6,000 were expected"));
  EXPECT_THAT(error_of([&] { pairs()->set("part", "train").set("fold", 2).open(); }),
              HasSubstr("the list has 2 folds, counted from 0"));
  std::filesystem::remove(folder_.path() / "lfw/Dee_Dee/Dee_Dee_0003.jpg");
  EXPECT_THAT(error_of([&] { pairs()->open(); }), HasSubstr("pairs.txt:7: '"));
}

TEST_F(LfwStages, ImagesOfAllPeople) {
  const auto harness = images();
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 9U);
  EXPECT_EQ(harness->outputs()[8].origin().item, "Dee_Dee/Dee_Dee_0003.jpg");
  EXPECT_EQ(harness->outputs()[8].get(field::category), 3);
  EXPECT_THAT(names_of(*harness), ElementsAre("Ann", "Bob", "Cid", "Dee_Dee"));
}

TEST_F(LfwStages, PeopleOfAListAreLeftOut) {
  const auto harness = images();
  harness->set("leave_out", (folder_.path() / "pairs.txt").string()).set("leave_out_fold", 0);
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 5U);
  EXPECT_EQ(harness->outputs()[0].get(field::item), "Cid");
  EXPECT_EQ(harness->outputs()[0].get(field::index), 4);
  EXPECT_THAT(
      error_of([&] { images()->set("leave_out", (folder_.path() / "pairs.txt").string()).open(); }),
      HasSubstr("no picture"));
}

TEST_F(LfwStages, AnotherCopyIsRefused) {
  EXPECT_THAT(error_of([&] { images()->set("expect", 13'233).open(); }),
              HasSubstr("9 pictures, but 13,233 are expected"));
  std::filesystem::remove(folder_.path() / "lfw/Cid/Cid_0001.jpg");
  EXPECT_THAT(error_of([&] { images()->open(); }), HasSubstr("'Cid/Cid_0001.jpg' is expected"));
}

TEST(LfwLists, AreReadWhole) {
  const char* const data = std::getenv("SEAM_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "SEAM_TEST_DATA names no folder with lfw-lists";
  const auto lists = std::filesystem::path(data) / "lfw-lists";
  if (!std::filesystem::exists(lists)) GTEST_SKIP() << "no lfw-lists in SEAM_TEST_DATA";
  const auto read = [](const std::filesystem::path& file) {
    return parse_lfw_pairs(read_list_text(file, "a list"));
  };
  const LfwPairList view2 = read(lists / "pairs.txt");
  EXPECT_EQ(view2.folds, 10);
  EXPECT_EQ(view2.pairs.size(), 6000U);
  EXPECT_EQ(read(lists / "with-header/pairsDevTrain.txt").pairs.size(), 2200U);
  EXPECT_EQ(read(lists / "with-header/pairsDevTest.txt").pairs.size(), 1000U);
  EXPECT_THAT(error_of([&] { static_cast<void>(read(lists / "pairsDevTest.txt")); }),
              HasSubstr("pairsDevTest.txt:1: the first line is a pair"));
}

}  // namespace
}  // namespace seam::stages
