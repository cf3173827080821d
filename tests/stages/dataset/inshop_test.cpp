#include "stages/dataset/inshop.hpp"

#include <algorithm>
#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::inshop_test {

void inshop_list(const TemporaryFolder& folder, const std::string& name) {
  folder.write(name, list_of({"img/MEN/Denim/id_00000001/01_1_front.jpg id_00000001 train",
                              "img/WOMEN/Skirts/id_00000002/01_1_front.jpg id_00000002 query",
                              "img/MEN/Denim/id_00000001/01_2_side.jpg id_00000001 train",
                              "img/WOMEN/Skirts/id_00000002/02_1_front.jpg id_00000002 gallery",
                              "img/WOMEN/Dresses/id_00000003/01_1_front.jpg id_00000003 train"}));
}

void write_data_set(const TemporaryFolder& folder) {
  inshop_list(folder, "Eval/list_eval_partition.txt");
  folder.write("img/MEN/Denim/id_00000001/01_1_front.jpg", "pixels");
  folder.write("img/WOMEN/Skirts/id_00000002/01_1_front.jpg", "pixels");
  folder.write("img/WOMEN/Skirts/id_00000002/02_1_front.jpg", "pixels");
}

const auto conformance = testing::conformance<Inshop>({
    .parameters = {{"root", std::string("nowhere")}},
    .connect = rooted_in(&write_data_set),
});

class InshopStage : public DataSetTest<Inshop, &write_data_set> {};

TEST_F(InshopStage, AnotherListThanTheOfficialOneIsMarked) {
  const auto query = make();
  query->set("split", "query").open();
  EXPECT_EQ(difference_of(*query),
            "the train split has 3 images of 2 items instead of the official 25,882 of 3,997, the "
            "query split has 1 image of 1 item instead of the official 14,218 of 3,985, the "
            "gallery split has 1 image of 1 item instead of the official 12,612 of 3,985, 3 "
            "categories instead of the official 23");
  EXPECT_THAT(query->log(), has_line("not the data of published results: the train"));
  const auto some = make();
  some->set("limit", 1).open();
  EXPECT_THAT(difference_of(*some), HasSubstr("images of the train split, 1 of 3 train images"));
}

TEST_F(InshopStage, ServesTheTrainSplitByDefault) {
  const auto harness = make();
  harness->produce();

  ASSERT_EQ(harness->outputs().size(), 3U);
  const Packet& second = harness->outputs()[1];
  EXPECT_EQ(second.get(field::path), folder_.path() / "img/MEN/Denim/id_00000001/01_2_side.jpg");
  EXPECT_EQ(second.get(field::item), "id_00000001");
  EXPECT_EQ(second.get(field::category), 0);
  EXPECT_EQ(names_of(*harness).at(0), "MEN_Denim");
  EXPECT_EQ(second.get(field::index), 1);
  EXPECT_EQ(second.origin().line, 5);
  EXPECT_EQ(*second.origin().file, (folder_.path() / "Eval/list_eval_partition.txt").string());
  EXPECT_EQ(second.origin().item, "img/MEN/Denim/id_00000001/01_2_side.jpg");
}

TEST_F(InshopStage, NumbersCategoriesOverAllSplits) {
  const auto harness = make();
  harness->set("split", "gallery").produce();

  ASSERT_EQ(harness->outputs().size(), 1U);
  EXPECT_EQ(harness->outputs()[0].get(field::category), 2);  // MEN_Denim, WOMEN_Dresses, this
  EXPECT_EQ(harness->outputs()[0].get(field::index), 0);
}

TEST_F(InshopStage, LimitsAndSaysSo) {
  const auto harness = make();
  harness->set("limit", 2).produce();

  EXPECT_THAT(indices_of(*harness), ElementsAre(0, 1));
  EXPECT_THAT(harness->log(), has_line("2 of 3 train"));
  EXPECT_THAT(harness->log(), has_line("1 train item has one image"));
}

TEST_F(InshopStage, ServesAFoldWithTheIndicesOfTheSplit) {
  // Item 1 has images 0 and 1, item 3 has image 2.
  std::vector<std::vector<std::int64_t>> parts;
  for (const char* part : {"train", "held_out"}) {
    const auto harness = make();
    harness->set("folds", 2).set("part", part).produce();
    parts.push_back(indices_of(*harness));
    EXPECT_THAT(served_of(*harness), ElementsAre(harness->outputs()[0].get(field::item)));
  }
  std::sort(parts.begin(), parts.end());
  EXPECT_THAT(parts, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_REFUSED(make()->set("folds", 3).open(), Fault::configuration, "too few for 3 folds");
  EXPECT_REFUSED(make()->set("folds", 2).set("fold", 2).open(), Fault::configuration,
                 "folds count from 0");
}

TEST_F(InshopStage, ReadsAnotherList) {
  std::filesystem::remove(folder_.path() / "Eval/list_eval_partition.txt");
  inshop_list(folder_, "Eval/small/list.txt");
  const auto harness = make();
  harness->set("list", "Eval/small/list.txt").produce();

  EXPECT_EQ(harness->outputs().size(), 3U);
}

TEST_F(InshopStage, RefusesUnexpectedCounts) {
  for (const char* part : {"train", "query", "gallery"}) {
    EXPECT_REFUSED(make()->set(std::string("expect_") + part, 14'218).open(), Fault::data,
                   std::string(part) + " images");
    EXPECT_REFUSED(make()->set(std::string("expect_") + part, 14'218).open(), Fault::data,
                   "14218 were expected");
  }
}

TEST_F(InshopStage, SaysWhatIsMissing) {
  EXPECT_REFUSED(make()->set("root", "/nowhere").open(), Fault::data, "/nowhere");
  EXPECT_REFUSED(make()->set("list", "none.txt").open(), Fault::data, "none.txt");
  std::filesystem::remove_all(folder_.path() / "img");
  EXPECT_REFUSED(make()->open(), Fault::data, "01_1_front.jpg' is missing");
  folder_.write("Eval/list_eval_partition.txt",
                list_of({"img/MEN/Denim/id_00000001/01_1_front.jpg id_00000001 train"}));
  EXPECT_REFUSED(make()->set("split", "query").open(), Fault::data, "has no query images");
}

/// Distributes the images over the items as evenly as possible.
struct Part {
  std::string category;
  std::int64_t items;
  std::int64_t queries;
};

class MadeUpList {
 public:
  /// `images` of items first, first + 1, ...
  void add(const std::string& category, std::int64_t first, std::int64_t items, std::int64_t images,
           const std::string& status) {
    for (std::int64_t image = 0; image < images; ++image) {
      std::string id = std::to_string(first + image % items);
      id = "id_" + std::string(8 - id.size(), '0') + id;
      rows_ += "img/" + category + "/" + id + "/" + status + std::to_string(image) + ".jpg " + id +
               " " + status + "\n";
      ++count_;
    }
  }
  [[nodiscard]] InshopList parsed() const {
    return parse_inshop_list(
        {"list.txt", std::to_string(count_) + "\nimage_name item_id evaluation_status\n" + rows_});
  }

 private:
  std::string rows_;
  std::int64_t count_ = 0;
};

/// The official counts; the images of the other 17 categories are made up.
std::vector<Part> official_parts() {
  return {{"WOMEN/Blouses_Shirts", 697, 2094}, {"WOMEN/Tees_Tanks", 673, 2955},
          {"WOMEN/Dresses", 624, 1901},        {"WOMEN/Shorts", 246, 988},
          {"WOMEN/Sweaters", 212, 735},        {"WOMEN/Jackets_Coats", 195, 545}};
}

InshopList list_with(const std::vector<Part>& parts) {
  MadeUpList list;
  std::int64_t item = 1;
  std::int64_t queries = 14'218;
  std::int64_t gallery = 12'612;
  const auto add = [&](const std::string& category, std::int64_t items, std::int64_t its_queries,
                       std::int64_t its_gallery) {
    list.add(category, item, items, its_queries, "query");
    list.add(category, item, items, its_gallery, "gallery");
    item += items;
    queries -= its_queries;
    gallery -= its_gallery;
  };
  for (const Part& part : parts) add(part.category, part.items, part.queries, 2 * part.items);
  for (int other = 0; other < 16; ++other) add("MEN/Other" + std::to_string(other), 10, 30, 20);
  const std::int64_t left = 3'985 - (item - 1);
  add("MEN/Last", left, queries, gallery);
  list.add("MEN/Last", item, 3'997, 25'882, "train");
  return list.parsed();
}

TEST(OfficialInshop, IsKnownByItsCounts) {
  EXPECT_EQ(difference_from_official(list_with(official_parts())), "");
}

/// A random partition has the official counts of images and items, but not those of categories.
TEST(OfficialInshop, AnotherPartitionWithTheSameCountsIsKnown) {
  std::vector<Part> parts = official_parts();
  ++parts[3].queries;
  EXPECT_EQ(
      difference_from_official(list_with(parts)),
      "WOMEN_Shorts has 989 queries of 246 items instead of the official 988 queries of 246 items");
  parts = official_parts();
  --parts[2].items;
  EXPECT_EQ(difference_from_official(list_with(parts)),
            "WOMEN_Dresses has 623 items instead of the official 624 items");
  parts = official_parts();
  parts[1].category = "WOMEN/Tops";
  EXPECT_THAT(difference_from_official(list_with(parts)),
              HasSubstr("WOMEN_Tees_Tanks has 0 queries of 0 items instead of the official"));
}

TEST(OfficialInshop, OtherCountsAreKnown) {
  MadeUpList list;
  list.add("MEN/Denim", 1, 2, 4, "query");
  list.add("MEN/Denim", 1, 2, 2, "gallery");
  EXPECT_THAT(
      difference_from_official(list.parsed()),
      HasSubstr("the query split has 4 images of 2 items instead of the official 14,218 of 3,985"));
}

/// Real names and items, distributed over the splits at random with the official counts.
TEST(OfficialInshop, ARandomPartitionOfTheRealImagesIsKnown) {
  const auto file = test_data("deepfashion-inshop-lists/list_eval_partition.SYNTHETIC-STATUS.txt");
  if (file.empty()) GTEST_SKIP() << "no such list in SEAM_TEST_DATA";
  EXPECT_EQ(difference_from_official(read_inshop_list(file)),
            "WOMEN_Blouses_Shirts has 2,208 queries of 740 items instead of the official 2,094 "
            "queries of 697 items");
}

}  // namespace seam::stages::inshop_test
