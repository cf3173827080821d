#include "stages/dataset/official_inshop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace seam::stages {
namespace official_inshop_test {

using ::testing::HasSubstr;

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
        std::to_string(count_) + "\nimage_name item_id evaluation_status\n" + rows_, "list.txt");
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
  const char* const data = std::getenv("SEAM_TEST_DATA");
  if (data == nullptr)
    GTEST_SKIP() << "SEAM_TEST_DATA names no folder with deepfashion-inshop-lists";
  const auto file = std::filesystem::path(data) / "deepfashion-inshop-lists" /
                    "list_eval_partition.SYNTHETIC-STATUS.txt";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no such list in SEAM_TEST_DATA";
  EXPECT_EQ(difference_from_official(read_inshop_list(file)),
            "WOMEN_Blouses_Shirts has 2,208 queries of 740 items instead of the official 2,094 "
            "queries of 697 items");
}

}  // namespace official_inshop_test
}  // namespace seam::stages
