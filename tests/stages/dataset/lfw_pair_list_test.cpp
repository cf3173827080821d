#include "stages/dataset/lfw_pair_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/stages/dataset/lfw_folder.hpp"

namespace seam::stages {
namespace lfw_pair_list_test {

using ::testing::HasSubstr;

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
  EXPECT_THAT(refused(without_line(two_folds, 9)),
              HasSubstr("pairs.txt:8: the list ends after 7 pairs, but the first line declares 8"));
  EXPECT_THAT(
      refused(without_line(two_folds, 2)),
      HasSubstr(
          "pairs.txt:3: a pair of two persons instead of pair 2 of 2 of one person of fold 1;"));
  EXPECT_THAT(refused(without_line(two_folds, 5)), HasSubstr("pairs.txt:5: a pair of one person"));
  EXPECT_THAT(refused(without_line(two_folds, 1)),
              HasSubstr("pairs.txt:1: the first line is a pair"));
  EXPECT_THAT(refused(two_folds + "Cid\t1\t4\n"), HasSubstr("pairs.txt:10: an additional pair"));
  EXPECT_THAT(refused("3\t2\n" + without_line(two_folds, 1)),
              HasSubstr("declares 12, 3 folds of 2"));
  EXPECT_THAT(refused(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refused("ten\n"), HasSubstr("the first line is 'ten'"));
  EXPECT_THAT(refused("0\n"), HasSubstr("the first line is '0'"));
}

TEST(LfwPairList, NoPairIsRefused) {
  EXPECT_THAT(refused("1\nAnn 1\nAnn 1 Bob 1\n"), HasSubstr("pairs.txt:2: 2 columns"));
  EXPECT_THAT(refused("1\nAnn 1 x\nAnn 1 Bob 1\n"), HasSubstr("'x' is not an image number"));
  EXPECT_THAT(refused("1\nAnn 1 0\nAnn 1 Bob 1\n"), HasSubstr("'0' is not an image number"));
  EXPECT_THAT(refused("1\nAnn 1 1\nAnn 1 Bob 1\n"), HasSubstr("has the same image twice"));
  EXPECT_THAT(refused("1\nAnn 1 2\nAnn 1 Ann 2\n"), HasSubstr("names 'Ann' twice"));
  EXPECT_THAT(refused("2\nAnn 1 2\nAnn 2 1\n"),
              HasSubstr("pairs.txt:3: the pair is already on line 2"));
  EXPECT_THAT(refused("1\n../x 1 2\nAnn 1 Bob 1\n"), HasSubstr("not a person's name"));
  EXPECT_THAT(refused("1\nAnn 1 2\n\nAnn 1 Bob 1\n"), HasSubstr("pairs.txt:3: the line is blank"));
}

TEST(LfwPairList, ThePublishedListsAreReadWhole) {
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

}  // namespace lfw_pair_list_test
}  // namespace seam::stages
