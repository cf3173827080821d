#include "stages/dataset/lfw_pairs.hpp"

#include <seam/conformance.hpp>

#include "stages/pair_fields.hpp"
#include "tests/stages/dataset/lfw_folder.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::lfw_pairs_test {

void expect_refused(const std::string& text, const std::string& message) {
  EXPECT_REFUSED((void)parse_lfw_pairs({"pairs.txt", text}), Fault::data, message) << text;
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
  const LfwPairList list =
      parse_lfw_pairs({"dev.txt", as_on_windows("1\nAnn 1 2\nAnn 1 Bob 1\n\n")});
  EXPECT_EQ(list.folds, 1);
  EXPECT_EQ(list.pairs.size(), 2U);
}

TEST(LfwPairList, ALineTooFewOrTooManyIsFound) {
  expect_refused(without_line(two_folds, 9),
                 "pairs.txt:8: the list ends after 7 pairs, but the first line declares 8");
  expect_refused(
      without_line(two_folds, 2),
      "pairs.txt:3: a pair of two persons instead of pair 2 of 2 of one person of fold 1;");
  expect_refused(without_line(two_folds, 5), "pairs.txt:5: a pair of one person");
  expect_refused(without_line(two_folds, 1), "pairs.txt:1: the first line is a pair");
  expect_refused(two_folds + "Cid\t1\t4\n", "pairs.txt:10: an additional pair");
  expect_refused("3\t2\n" + without_line(two_folds, 1), "declares 12, 3 folds of 2");
  expect_refused("", "the file is empty");
  expect_refused("ten\n", "the first line is 'ten'");
  expect_refused("0\n", "the first line is '0'");
}

TEST(LfwPairList, NoPairIsRefused) {
  expect_refused("1\nAnn 1\nAnn 1 Bob 1\n", "pairs.txt:2: 2 columns");
  expect_refused("1\nAnn 1 x\nAnn 1 Bob 1\n", "'x' is not an image number");
  expect_refused("1\nAnn 1 0\nAnn 1 Bob 1\n", "'0' is not an image number");
  expect_refused("1\nAnn 1 1\nAnn 1 Bob 1\n", "has the same image twice");
  expect_refused("1\nAnn 1 2\nAnn 1 Ann 2\n", "names 'Ann' twice");
  expect_refused("2\nAnn 1 2\nAnn 2 1\n", "pairs.txt:3: the pair is already on line 2");
  expect_refused("1\n../x 1 2\nAnn 1 Bob 1\n", "not a person's name");
  expect_refused("1\nAnn 1 2\n\nAnn 1 Bob 1\n", "pairs.txt:3: the line is blank");
}

TEST(LfwPairList, ThePublishedListsAreReadWhole) {
  const auto lists = test_data("lfw-lists");
  if (lists.empty()) GTEST_SKIP() << "no lfw-lists in SEAM_TEST_DATA";
  const auto read = [](const std::filesystem::path& file) {
    return parse_lfw_pairs(read_list_text(file, "a list"));
  };
  const LfwPairList view2 = read(lists / "pairs.txt");
  EXPECT_EQ(view2.folds, 10);
  EXPECT_EQ(view2.pairs.size(), 6000U);
  EXPECT_EQ(read(lists / "with-header/pairsDevTrain.txt").pairs.size(), 2200U);
  EXPECT_EQ(read(lists / "with-header/pairsDevTest.txt").pairs.size(), 1000U);
  EXPECT_REFUSED(static_cast<void>(read(lists / "pairsDevTest.txt")), Fault::data,
                 "pairsDevTest.txt:1: the first line is a pair");
}

/// Sets the stage to a folder that write_faces() has filled.
void set_folder(testing::Harness& harness, const TemporaryFolder& folder) {
  harness.set("root", (folder.path() / "lfw").string());
  harness.set("list", (folder.path() / "pairs.txt").string());
}

const auto conformance = testing::conformance<LfwPairs>({
    .parameters = {{"root", std::string("nowhere")}, {"list", std::string("nowhere")}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder(&write_faces);
          set_folder(harness, *folder);
          return folder;
        },
    .refused = {{{"fold", std::int64_t{1}}}, {{"part", std::string("train")}}},
});

class LfwPairsStage : public ::testing::Test {
 protected:
  LfwPairsStage() { write_faces(folder_); }
  [[nodiscard]] std::unique_ptr<testing::Harness> pairs() const {
    auto harness = std::make_unique<testing::Harness>("pairs", std::make_unique<LfwPairs>());
    set_folder(*harness, folder_);
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
    EXPECT_EQ(packet->get(field::group_size), 2);
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
  EXPECT_REFUSED(pairs()->set("expect", 6000).open(), Fault::data,
                 "8 pairs, but 6,000 were expected");
  EXPECT_REFUSED(pairs()->set("part", "train").set("fold", 2).open(), Fault::configuration,
                 "the list has 2 folds, counted from 0");
  std::filesystem::remove(folder_.path() / "lfw/Dee_Dee/Dee_Dee_0003.jpg");
  EXPECT_REFUSED(pairs()->open(), Fault::data, "pairs.txt:7: '");
}

}  // namespace seam::stages::lfw_pairs_test
