#include "stages/dataset/inshop_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <seam/error.hpp>
#include <string>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {
namespace inshop_list_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* small_list =
    "5\n"
    "image_name item_id evaluation_status\n"
    "img/WOMEN/Skirts/id_00000007/01_1_front.jpg               id_00000007 train   \n"
    "img/WOMEN/Dresses/id_00000007/01_2_side.jpg id_00000007 train\n"
    "img/MEN/Denim/id_00000003/02_1_front.jpg\tid_00000003\tquery\n"
    "img/MEN/Denim/id_00000003/04_1_front.jpg id_00000003 gallery\n"
    "img/WOMEN/Tees_Tanks/id_00000012/1_front.jpg id_00000012 train\n";

std::string error_of(const std::string& text, const ExpectedCounts& expected = {}) {
  try {
    const InshopList list = parse_inshop_list(text, "list.txt", expected);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::data);
    return error.what();
  }
  return "no error";
}

std::filesystem::path test_data(const std::string& below) {
  const char* const root = std::getenv("SEAM_TEST_DATA");
  return root == nullptr ? std::filesystem::path() : std::filesystem::path(root) / below;
}

TEST(InshopList, ReadsEveryRowIncludingTheFirst) {
  const InshopList list = parse_inshop_list(small_list, "list.txt");

  ASSERT_EQ(list.rows.size(), 5U);
  EXPECT_EQ(list.rows[0].path, "img/WOMEN/Skirts/id_00000007/01_1_front.jpg");
  EXPECT_EQ(list.rows[0].item, "id_00000007");
  EXPECT_EQ(list.rows[0].split, Split::train);
  EXPECT_EQ(list.rows[0].line, 3);
  EXPECT_EQ(list.rows[2].split, Split::query);
  EXPECT_EQ(list.rows[3].split, Split::gallery);
  EXPECT_EQ(list.rows[4].line, 7);
}

TEST(InshopList, KeepsTheColourOfTheFileName) {
  const InshopList list = parse_inshop_list(small_list, "list.txt");

  EXPECT_EQ(list.rows[2].colour, 2);
  EXPECT_EQ(list.rows[3].colour, 4);
}

TEST(InshopList, SortsOneVocabularyOverAllSplits) {
  const InshopList list = parse_inshop_list(small_list, "list.txt");

  EXPECT_THAT(list.categories,
              ElementsAre("MEN_Denim", "WOMEN_Dresses", "WOMEN_Skirts", "WOMEN_Tees_Tanks"));
  EXPECT_EQ(list.categories[static_cast<std::size_t>(list.rows[0].category)], "WOMEN_Skirts");
  EXPECT_EQ(list.categories[static_cast<std::size_t>(list.rows[2].category)], "MEN_Denim");
}

TEST(InshopList, CountsWhatTheProtocolMustMention) {
  const InshopReport report = parse_inshop_list(small_list, "list.txt").report;

  EXPECT_THAT(report.images, ElementsAre(3, 1, 1));
  EXPECT_THAT(report.items, ElementsAre(2, 1, 1));
  EXPECT_THAT(report.single_image_train_items, ElementsAre("id_00000012"));
  EXPECT_THAT(report.items_in_several_categories, ElementsAre("id_00000007"));
  EXPECT_THAT(report.query_items_without_gallery, IsEmpty());
  EXPECT_THAT(
      report.text(),
      AllOf(HasSubstr(
                "train 3 images of 2 items, query 1 image of 1 item, gallery 1 image of 1 item"),
            HasSubstr("1 item is in more than one category folder (id_00000007)")));
}

TEST(InshopList, CountsLoneQueries) {
  const InshopReport report = parse_inshop_list(list_of({"img/MEN/Denim/id_1/a.jpg id_1 query",
                                                         "img/MEN/Denim/id_1/b.jpg id_1 query",
                                                         "img/MEN/Denim/id_2/a.jpg id_2 gallery"}),
                                                "list.txt")
                                  .report;

  EXPECT_THAT(report.query_items_without_gallery, ElementsAre("id_1"));
  EXPECT_EQ(report.lone_queries, 2);
  EXPECT_THAT(report.text(), HasSubstr("2 queries cannot be answered"));
}

TEST(InshopList, PicksOneSplitInFileOrder) {
  const InshopList list = parse_inshop_list(small_list, "list.txt");

  const std::vector<InshopRow> train = list.of(Split::train);
  ASSERT_EQ(train.size(), 3U);
  EXPECT_EQ(train[1].line, 4);
  EXPECT_EQ(train[2].line, 7);
}

TEST(InshopList, ReadsTheSameFromOtherLineEnds) {
  const InshopList plain = parse_inshop_list(small_list, "list.txt");
  std::string windows = "\xEF\xBB\xBF";
  for (const char* c = small_list; *c != '\0'; ++c) {
    if (*c == '\n') windows += '\r';
    windows += *c;
  }
  windows.resize(windows.size() - 2);  // and no newline at the end

  const InshopList list = parse_inshop_list(windows, "list.txt");

  ASSERT_EQ(list.rows.size(), plain.rows.size());
  for (std::size_t i = 0; i < list.rows.size(); ++i) {
    EXPECT_EQ(list.rows[i].path, plain.rows[i].path);
    EXPECT_EQ(list.rows[i].item, plain.rows[i].item);
    EXPECT_EQ(list.rows[i].split, plain.rows[i].split);
    EXPECT_EQ(list.rows[i].line, plain.rows[i].line);
  }
  EXPECT_EQ(list.categories, plain.categories);
}

TEST(InshopList, RefusesACountThatDiffersFromTheRows) {
  std::string text = small_list;
  text[0] = '6';
  EXPECT_THAT(error_of(text), AllOf(HasSubstr("list.txt:1"), HasSubstr("declares 6"),
                                    HasSubstr("5 rows follow (the last on line 7)")));
  text[0] = '4';
  EXPECT_THAT(error_of(text), AllOf(HasSubstr("declares 4"), HasSubstr("5 rows follow")));
}

TEST(InshopList, RefusesABadHead) {
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("image_name item_id evaluation_status\n"),
              AllOf(HasSubstr("list.txt:1"), HasSubstr("number of images")));
  EXPECT_THAT(error_of("-3\n"), HasSubstr("number of images"));
  EXPECT_THAT(error_of("99999999999999999999\n"), HasSubstr("number of images"));
  EXPECT_THAT(error_of("1\n"), HasSubstr("ends after its first line"));
  EXPECT_THAT(error_of("1\nimg/MEN/Denim/id_1/a.jpg id_1 train\n"),
              AllOf(HasSubstr("list.txt:2"), HasSubstr("column names")));
}

TEST(InshopList, RefusesMalformedRowsByLine) {
  const std::string good = "img/MEN/Denim/id_1/a.jpg id_1 train";
  EXPECT_THAT(error_of(list_of({good, "img/MEN/Denim/id_1/b.jpg id_1"})),
              AllOf(HasSubstr("list.txt:4"), HasSubstr("three columns"), HasSubstr("holds 2")));
  EXPECT_THAT(error_of(list_of({"img/MEN/Denim/id_1/a b.jpg id_1 train"})),
              HasSubstr("blanks in names"));
  EXPECT_THAT(error_of(list_of({good, "img/MEN/Denim/id_2/b.jpg id_2 val"})),
              AllOf(HasSubstr("list.txt:4"), HasSubstr("'val'"), HasSubstr("'train', 'query'")));
  EXPECT_THAT(error_of(list_of({"img/MEN/Denim/7/a.jpg 7 train"})), HasSubstr("item id '7'"));
  EXPECT_THAT(error_of(list_of({"img/MEN/Denim/id_1/a.jpg id_2 train"})),
              AllOf(HasSubstr("'id_1'"), HasSubstr("'id_2'")));
  EXPECT_THAT(error_of(list_of({good, good})), HasSubstr("first on line 3"));
}

TEST(InshopList, RefusesPathsThatLeaveTheRoot) {
  EXPECT_THAT(error_of(list_of({"/img/MEN/Denim/id_1/a.jpg id_1 train"})), HasSubstr("relative"));
  EXPECT_THAT(error_of(list_of({"../MEN/Denim/id_1/a.jpg id_1 train"})), HasSubstr("'..'"));
  EXPECT_THAT(error_of(list_of({"Denim/id_1/a.jpg id_1 train"})), HasSubstr("DEPARTMENT"));
}

TEST(InshopList, RefusesItemsInTrainAndTest) {
  EXPECT_THAT(error_of(list_of({"img/MEN/Denim/id_1/a.jpg id_1 train",
                                "img/MEN/Denim/id_1/b.jpg id_1 gallery"})),
              AllOf(HasSubstr("train (line 3)"), HasSubstr("gallery (line 4)")));
}

TEST(InshopList, ChecksExpectedCounts) {
  EXPECT_THAT(error_of(small_list, {3, 1, 1}), "no error");
  EXPECT_THAT(error_of(small_list, {std::nullopt, 2, std::nullopt}),
              AllOf(HasSubstr("1 query images"), HasSubstr("2 were expected")));
}

TEST(InshopList, NamesAFileThatIsNotThere) {
  try {
    const InshopList list = read_inshop_list("/nowhere/list.txt");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/list.txt"));
  }
}

TEST(InshopList, ReadsAllOfTheOfficialNames) {
  const auto file = test_data("deepfashion-inshop-lists/list_eval_partition.SYNTHETIC-STATUS.txt");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "needs deepfashion-inshop-lists";

  const InshopList list = read_inshop_list(file, ExpectedCounts::official());

  EXPECT_EQ(list.rows.size(), 52'712U);
  EXPECT_THAT(list.report.images, ElementsAre(25'882, 14'218, 12'612));
  EXPECT_THAT(list.report.items, ElementsAre(3'997, 3'985, 3'985));
  EXPECT_EQ(list.categories.size(), 23U);
  EXPECT_EQ(list.report.items_in_several_categories.size(), 99U);
  EXPECT_EQ(list.report.single_image_train_items.size(), 12U);
  EXPECT_EQ(list.report.lone_queries, 0);
}

TEST(InshopList, ReadsTheListsOfRealPhotographs) {
  const auto folder = test_data("deepfashion-inshop/Eval");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs deepfashion-inshop";

  const auto images = [&folder](const char* file) {
    return read_inshop_list(folder / file).report.images;
  };
  EXPECT_THAT(images("list_eval_partition.txt"), ElementsAre(5129, 485, 412));
  EXPECT_THAT(images("list_eval_partition.cross-colour.txt"), ElementsAre(5129, 202, 695));
  EXPECT_THAT(images("small/list_eval_partition.txt"), ElementsAre(837, 485, 412));
  EXPECT_THAT(images("small/list_eval_partition.cross-colour.txt"), ElementsAre(837, 202, 695));
}

}  // namespace inshop_list_test
}  // namespace seam::stages
