#include "stages/dataset/inshop_list.hpp"

#include "tests/stages/dataset/layout.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::inshop_list_test {

constexpr const char* small_list =
    "5\n"
    "image_name item_id evaluation_status\n"
    "img/WOMEN/Skirts/id_00000007/01_1_front.jpg               id_00000007 train   \n"
    "img/WOMEN/Dresses/id_00000007/01_2_side.jpg id_00000007 train\n"
    "img/MEN/Denim/id_00000003/02_1_front.jpg\tid_00000003\tquery\n"
    "img/MEN/Denim/id_00000003/04_1_front.jpg id_00000003 gallery\n"
    "img/WOMEN/Tees_Tanks/id_00000012/1_front.jpg id_00000012 train\n";
const ListText small{"list.txt", small_list};

/// Expects a text to be refused, with all of these in the message.
void expect_refused(const std::string& text, const std::vector<std::string>& parts,
                    const ExpectedCounts& expected = {}) {
  for (const std::string& part : parts) {
    EXPECT_REFUSED((void)parse_inshop_list({"list.txt", text}, expected), Fault::data, part)
        << text;
  }
}

TEST(InshopList, ReadsEveryRowIncludingTheFirst) {
  const InshopList list = parse_inshop_list(small);

  ASSERT_EQ(list.rows.size(), 5U);
  EXPECT_EQ(list.rows[0].path, "img/WOMEN/Skirts/id_00000007/01_1_front.jpg");
  EXPECT_EQ(list.rows[0].item, "id_00000007");
  EXPECT_EQ(list.rows[0].split, Split::train);
  EXPECT_EQ(list.rows[0].line, 3);
  EXPECT_EQ(list.rows[2].split, Split::query);
  EXPECT_EQ(list.rows[3].split, Split::gallery);
  EXPECT_EQ(list.rows[4].line, 7);
  const std::vector<InshopRow> train = list.of(Split::train);
  ASSERT_EQ(train.size(), 3U);
  EXPECT_EQ(train[1].line, 4);
  EXPECT_EQ(train[2].line, 7);
  // One vocabulary over all splits.
  EXPECT_THAT(list.categories,
              ElementsAre("MEN_Denim", "WOMEN_Dresses", "WOMEN_Skirts", "WOMEN_Tees_Tanks"));
  EXPECT_EQ(list.categories[list.rows[0].category], "WOMEN_Skirts");
  EXPECT_EQ(list.categories[list.rows[2].category], "MEN_Denim");
}

TEST(InshopList, CountsWhatTheProtocolMustMention) {
  const InshopReport report = parse_inshop_list(small).report;

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
  const InshopReport report =
      parse_inshop_list({"list.txt", list_of({"img/MEN/Denim/id_1/a.jpg id_1 query",
                                              "img/MEN/Denim/id_1/b.jpg id_1 query",
                                              "img/MEN/Denim/id_2/a.jpg id_2 gallery"})})
          .report;

  EXPECT_THAT(report.query_items_without_gallery, ElementsAre("id_1"));
  EXPECT_EQ(report.lone_queries, 2);
  EXPECT_THAT(report.text(), HasSubstr("2 queries cannot be answered"));
}

TEST(InshopList, ReadsTheSameFromOtherLineEnds) {
  const InshopList plain = parse_inshop_list(small);
  std::string windows = as_on_windows(small_list);
  windows.resize(windows.size() - 2);  // and no newline at the end

  const InshopList list = parse_inshop_list({"list.txt", windows});

  ASSERT_EQ(list.rows.size(), plain.rows.size());
  for (std::size_t i = 0; i < list.rows.size(); ++i) {
    EXPECT_EQ(list.rows[i].path, plain.rows[i].path);
    EXPECT_EQ(list.rows[i].item, plain.rows[i].item);
    EXPECT_EQ(list.rows[i].split, plain.rows[i].split);
    EXPECT_EQ(list.rows[i].line, plain.rows[i].line);
  }
  EXPECT_EQ(list.categories, plain.categories);
}

TEST(InshopList, MayEndInBlankLines) {
  const std::string text = small_list;
  EXPECT_EQ(parse_inshop_list({"list.txt", text + "\n \t\r\n"}).rows.size(), 5U);
}

TEST(InshopList, RefusesCountsThatDiffer) {
  expect_refused(replaced(small_list, "5", "6"), {"list.txt:1", "declares 6", "but 5 follow"});
  expect_refused(replaced(small_list, "5", "4"), {"declares 4", "but 5 follow"});
  (void)parse_inshop_list(small, {3, 1, 1});
  expect_refused(small_list, {"1 query images", "2 were expected"},
                 {std::nullopt, 2, std::nullopt});
}

TEST(InshopList, RefusesABadHeadOrNoFile) {
  expect_refused("", {"empty"});
  expect_refused("image_name item_id evaluation_status\n", {"list.txt:1", "number of rows"});
  expect_refused("-3\n", {"number of rows"});
  expect_refused("99999999999999999999\n", {"number of rows"});
  expect_refused("1\n", {"declares 1 row, but 0 follow"});
  expect_refused("1\nimg/MEN/Denim/id_1/a.jpg id_1 train\n", {"list.txt:2", "column names"});
  EXPECT_REFUSED((void)read_inshop_list("/nowhere/list.txt"), Fault::data, "/nowhere/list.txt");
}

TEST(InshopList, RefusesMalformedRowsByLine) {
  const std::string good = "img/MEN/Denim/id_1/a.jpg id_1 train";
  expect_refused(list_of({good, "img/MEN/Denim/id_1/b.jpg id_1"}),
                 {"list.txt:4", "2 columns instead of 3"});
  expect_refused(list_of({"img/MEN/Denim/id_1/a b.jpg id_1 train"}), {"4 columns instead of 3"});
  expect_refused(list_of({good, "img/MEN/Denim/id_2/b.jpg id_2 val"}),
                 {"list.txt:4", "'val'", "'train', 'query'"});
  expect_refused(list_of({"img/MEN/Denim/7/a.jpg 7 train"}), {"item id '7'"});
  expect_refused(list_of({"img/MEN/Denim/id_1/a.jpg id_2 train"}), {"'id_1'", "'id_2'"});
  expect_refused(list_of({good, good}), {"first on line 3"});
  expect_refused(list_of({good, "", good}), {"list.txt:4: the line is blank, but rows follow"});
}

TEST(InshopList, RefusesPathsThatLeaveTheRootAndItemsInTrainAndTest) {
  expect_refused(list_of({"/img/MEN/Denim/id_1/a.jpg id_1 train"}), {"relative"});
  expect_refused(list_of({"../MEN/Denim/id_1/a.jpg id_1 train"}), {"'..'"});
  expect_refused(list_of({"Denim/id_1/a.jpg id_1 train"}), {"DEPARTMENT"});
  expect_refused(
      list_of({"img/MEN/Denim/id_1/a.jpg id_1 train", "img/MEN/Denim/id_1/b.jpg id_1 gallery"}),
      {"train (line 3)", "gallery (line 4)"});
}

TEST(InshopList, ReadsAllOfTheOfficialNames) {
  const auto file = test_data("deepfashion-inshop-lists/list_eval_partition.SYNTHETIC-STATUS.txt");
  if (file.empty()) GTEST_SKIP() << "needs deepfashion-inshop-lists";

  const InshopList list = read_inshop_list(file, {25'882, 14'218, 12'612});

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
  if (folder.empty()) GTEST_SKIP() << "needs deepfashion-inshop";

  const auto images = [&folder](const char* file) {
    return read_inshop_list(folder / file).report.images;
  };
  EXPECT_THAT(images("list_eval_partition.txt"), ElementsAre(5129, 485, 412));
  EXPECT_THAT(images("list_eval_partition.cross-colour.txt"), ElementsAre(5129, 202, 695));
  EXPECT_THAT(images("small/list_eval_partition.txt"), ElementsAre(837, 485, 412));
  EXPECT_THAT(images("small/list_eval_partition.cross-colour.txt"), ElementsAre(837, 202, 695));
}

}  // namespace seam::stages::inshop_list_test
