#include "stages/dataset/category.hpp"

#include <seam/box.hpp>
#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::category_test {

const std::string cloth = "4\ncategory_name  category_type\nAnorak 1\nBlazer 1\nJeans 2\nDress 3\n";
const std::string images =
    "4\nimage_name  category_label\n"
    "img/Blue_Jeans/img_1.jpg      3\n"
    "img/Long_Dress/img_1.jpg      4\n"
    "img/Long_Dress/img_2.jpg      4\n"
    "img/Warm_Anorak/img_1.jpg     1\n";
const std::string partition =
    "4\nimage_name evaluation_status\n"
    "img/Blue_Jeans/img_1.jpg train\nimg/Long_Dress/img_1.jpg val\n"
    "img/Warm_Anorak/img_1.jpg train\nimg/Long_Dress/img_2.jpg test\n";
const std::string boxes =
    "4\nimage_name  x_1  y_1  x_2  y_2\n"
    "img/Blue_Jeans/img_1.jpg 001 002 030 040\nimg/Long_Dress/img_1.jpg 0 0 1 1\n"
    "img/Long_Dress/img_2.jpg 5 6 7 8\nimg/Warm_Anorak/img_1.jpg 072 079 232 273\n";

void write_data_set(const TemporaryFolder& folder) {
  folder.write("Anno_coarse/list_category_cloth.txt", cloth);
  folder.write("Anno_coarse/list_category_img.txt", images);
  folder.write("Anno_coarse/list_bbox.txt", boxes);
  folder.write("Eval/list_eval_partition.txt", partition);
  for (const char* image :
       {"Blue_Jeans/img_1.jpg", "Long_Dress/img_1.jpg", "Long_Dress/img_2.jpg"}) {
    folder.write("img/" + std::string(image), "pixels");
  }
}

const auto conformance = seam::testing::conformance<Category>({
    .parameters = {{"root", std::string("nowhere")}, {"boxes", std::string("field")}},
    .connect = rooted_in(&write_data_set),
});

CategoryLists lists() {
  return {{"img.txt", images},
          {"cloth.txt", cloth},
          {"eval.txt", partition},
          ListText{"bbox.txt", boxes}};
}

constexpr auto images_of = [](CategoryLists& all) -> ListText& { return all.images; };
constexpr auto categories_of = [](CategoryLists& all) -> ListText& { return all.categories; };
constexpr auto partition_of = [](CategoryLists& all) -> ListText& { return all.partition; };
constexpr auto boxes_of = [](CategoryLists& all) -> ListText& { return *all.boxes; };

/// Expects changes to one of the lists to be refused.
void expect_refusals_in(ListText& (*list)(CategoryLists&), const std::vector<Refusal>& refusals) {
  CategoryLists all = lists();
  ListText& changed = list(all);
  const std::string whole = changed.text;
  expect_refusals(whole, refusals, [&](const std::string& text) {
    changed.text = text;
    (void)join_category_lists(all);
  });
}

TEST(CategoryLists, AreJoinedByTheNamesOfImages) {
  const CategoryList list = join_category_lists(lists());
  ASSERT_EQ(list.rows.size(), 4U);
  EXPECT_THAT(list.categories, ElementsAre("Anorak", "Jeans", "Dress"));  // nothing is a Blazer
  EXPECT_THAT(list.images, ElementsAre(2, 1, 1));
  const CategoryRow& anorak = list.rows[3];
  EXPECT_EQ(anorak.path, "img/Warm_Anorak/img_1.jpg");
  EXPECT_EQ(anorak.item, "Warm_Anorak");
  EXPECT_EQ(anorak.category, 0);
  EXPECT_EQ(anorak.split, CategorySplit::train);
  EXPECT_THAT(anorak.box, ElementsAre(72, 79, 232, 273));
  EXPECT_EQ(list.rows[2].split, CategorySplit::test);
  EXPECT_EQ(list.rows[2].category, 2);
}

TEST(CategoryLists, AllCategoriesCanBeNumbered) {
  const CategoryList list = join_category_lists(lists(), CategoryNumbers::all);
  EXPECT_THAT(list.categories, ElementsAre("Anorak", "Blazer", "Jeans", "Dress"));
  EXPECT_EQ(list.rows[0].category, 2);
}

TEST(CategoryLists, EveryListThatIsCutShortIsRefused) {
  for (auto list :
       {&CategoryLists::images, &CategoryLists::categories, &CategoryLists::partition}) {
    const CategoryLists whole = lists();
    const std::string& text = (whole.*list).text;
    for (std::size_t length = 0; length + 1 < text.size(); ++length) {
      CategoryLists changed = whole;
      (changed.*list).text.resize(length);
      // If it is cut within the last word, the rest may have a different meaning.
      if (text.find('\n', length) == text.size() - 1 && text[length - 1] != '\n') continue;
      EXPECT_NE(error_of([&] { static_cast<void>(join_category_lists(changed)); }), "no error")
          << whole.images.name << " " << length;
    }
  }
}

TEST(CategoryLists, CountsAndColumnsAreChecked) {
  expect_refusals_in(
      images_of,
      {{"4", "5", "img.txt:1: the first line declares 5 rows, but 4 follow"},
       {images, "many\n", "number of rows"},
       {images, "", "is empty"},
       {images, cloth, "column names 'image_name category_label', but it begins with 'category_"},
       {"img_2.jpg ", "img 2.jpg ", "img.txt:5: 3 columns instead of 2"},
       {"img/Warm", "\nimg/Warm", "img.txt:6: the line is blank, but rows follow"}});
  expect_refusals_in(categories_of, {{cloth, images,
                                      "column names 'category_name category_type', but it begins "
                                      "with 'image_name'"}});
}

TEST(CategoryLists, LabelsStatusesAndBoxesAreChecked) {
  for (const char* wrong : {"0", "5", "x", "-1", "1.0", "99999999999999999999"}) {
    expect_refusals_in(images_of, {{"     3\n", std::string(" ") + wrong + "\n",
                                    std::string("img.txt:3: category label '") + wrong + "'"}});
  }
  expect_refusals_in(partition_of, {{" val", " valid", "eval.txt:4: unknown status 'valid'"}});
  const std::string box = "001 002 030 040";
  expect_refusals_in(boxes_of, {{box, "30 2 30 40", "bbox.txt:3: the box has no pixels"},
                                {box, "31 2 30 40", "bbox.txt:3: the box has no pixels"},
                                {box, "1 40 30 40", "bbox.txt:3: the box has no pixels"},
                                {box, "-1 2 30 40", "bbox.txt:3: '-1' is not a pixel position"},
                                {box, "a 2 30 40", "bbox.txt:3: 'a' is not a pixel position"}});
}

TEST(CategoryLists, TheVocabularyIsChecked) {
  expect_refusals_in(
      categories_of,
      {{"Blazer", "Anorak", "cloth.txt:4: category 'Anorak' is listed a second time"},
       {"Dress 3", "Dress 4", "category type '4'"},
       {cloth, "0\ncategory_name category_type\n", "no category is listed"}});
}

TEST(CategoryLists, OfDifferentImagesAreRefused) {
  expect_refusals_in(
      partition_of,
      {{"img/Warm", "img/Cold", "'img/Cold_Anorak/img_1.jpg' is not in 'img.txt'"},
       {"Long_Dress/img_2", "Long_Dress/img_1", "listed a second time; first on line 4"},
       {partition, "3" + replaced(partition, "img/Long_Dress/img_1.jpg val\n", "").substr(1),
        "'img/Long_Dress/img_1.jpg' is missing"}});
  expect_refusals_in(images_of,
                     {{"Long_Dress/img_2", "Long_Dress/img_1",
                       "img.txt:5: image 'img/Long_Dress/img_1.jpg' is listed a second time"}});
}

TEST(CategoryLists, PathsThatLeaveTheDataSetAreRefused) {
  for (const char* wrong : {"/img/a.jpg", "../a/b.jpg", "img//a.jpg", "a.jpg"}) {
    expect_refusals_in(images_of, {{"img/Blue_Jeans/img_1.jpg", wrong, "img.txt:3: image name"}});
  }
}

class CategoryStage : public DataSetTest<Category, &write_data_set> {};

TEST_F(CategoryStage, ItsListingDependsOnTheBoxesItReads) {
  const auto digest = [this](const std::string& use) {
    const auto harness = make();
    harness->set("boxes", use).open();
    return interface_of<Listing>(*harness).listing_digest();
  };
  const std::uint64_t ignored = digest("ignore");
  const std::uint64_t read = digest("field");
  folder_.write("Anno_coarse/list_bbox.txt", replaced(boxes, "001 002 030 040", "001 002 030 041"));
  EXPECT_EQ(digest("ignore"), ignored);
  EXPECT_NE(digest("field"), read);
}

TEST_F(CategoryStage, ServesASplit) {
  const auto harness = make();
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 2U);
  const Packet& second = harness->outputs()[1];
  EXPECT_EQ(second.get(field::path), folder_.path() / "img/Warm_Anorak/img_1.jpg");
  EXPECT_EQ(second.get(field::item), "Warm_Anorak");
  EXPECT_EQ(second.get(field::category), 0);
  EXPECT_EQ(second.get(field::index), 1);
  EXPECT_FALSE(second.has(field::box));
  EXPECT_THAT(second.origin().text(), HasSubstr("list_category_img.txt:6"));
  EXPECT_THAT(names_of(*harness), ElementsAre("Anorak", "Jeans", "Dress"));
}

TEST_F(CategoryStage, HandsOnTheBoxOfEachPicture) {
  const auto harness = make();
  harness->set("boxes", "field").set("split", "test").produce();
  ASSERT_EQ(harness->outputs().size(), 1U);
  EXPECT_THAT(harness->outputs()[0].get(field::box), ElementsAre(5, 6, 7, 8));
}

TEST_F(CategoryStage, CountsOtherThanExpectedAreRefused) {
  const auto refused = [&](const std::string& parameter, int value) {
    const auto harness = make();
    harness->set(parameter, value);
    return error_of([&] { harness->open(); });
  };
  EXPECT_EQ(refused("expect_train", 2), "no error");
  EXPECT_THAT(refused("expect_train", 209'222), HasSubstr("2 train images, but 209,222"));
  EXPECT_THAT(refused("expect_val", 0), HasSubstr("1 val images, but 0"));
  EXPECT_THAT(refused("expect_test", 2), HasSubstr("1 test images, but 2"));
  EXPECT_EQ(refused("expect_categories", 3), "no error");
  EXPECT_THAT(refused("expect_categories", 46), HasSubstr("3 categories, but 46"));
}

TEST_F(CategoryStage, AMissingListOrPictureIsNamed) {
  std::filesystem::remove(folder_.path() / "img/Blue_Jeans/img_1.jpg");
  EXPECT_REFUSED(make()->open(), Fault::data, "Blue_Jeans/img_1.jpg' is missing");
  std::filesystem::remove(folder_.path() / "Anno_coarse/list_bbox.txt");
  const auto harness = make();
  harness->set("boxes", "field");
  EXPECT_REFUSED(harness->open(), Fault::data, "no file");
  std::filesystem::remove_all(folder_.path() / "Anno_coarse");
  EXPECT_REFUSED(make()->open(), Fault::data, "'annotations'");
}

TEST_F(CategoryStage, AnythingButTheTestSplitOfTheOfficialListsIsMarked) {
  folder_.write("other.txt", partition);
  const auto test = make();
  test->set("split", "test").open();
  EXPECT_EQ(
      difference_of(*test),
      "2 train images instead of the official 209,222, 1 val image instead of the official 40,000, "
      "1 test image instead of the official 40,000, 3 categories instead of the official 46");
  const auto other = make();
  other->set("partition", "other.txt").set("limit", 1).open();
  EXPECT_THAT(
      difference_of(*other),
      HasSubstr("the partition 'other.txt', images of the train split, 1 of 2 train images"));
}

}  // namespace seam::stages::category_test
