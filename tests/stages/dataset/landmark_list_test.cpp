#include "stages/dataset/landmark_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {
namespace landmark_list_test {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> partition_rows{
    "img/MEN/Denim/id_00000001/01_1_front.jpg id_00000001 train",
    "img/WOMEN/Dresses/id_00000002/01_1_front.jpg id_00000002 query",
    "img/WOMEN/Tees/id_00000003/01_1_front.jpg id_00000003 train"};
const std::string head =
    "image_name clothes_type variation_type landmark_visibility_1 landmark_location_x_1 "
    "landmark_location_y_1\n";
const std::string landmarks = "3\n" + head +
                              "img/WOMEN/Tees/id_00000003/01_1_front.jpg 1 1  0 146 013  0 109 13  "
                              "1 172 111  2 000 000  0 105 149  0 159.5 149\n"
                              "img/MEN/Denim/id_00000001/01_1_front.jpg 2 4  0 1 2 0 3 4 0 5 6 "
                              "2 9 9\n"
                              "img/WOMEN/Dresses/id_00000002/01_1_front.jpg 3 1  0 1 2 0 3 4 0 5 6 "
                              "0 7 8 0 9 10 0 11 12 0 13 14 1 15 16\n";
const std::string names = "3\nattribute_name\na-line\nabstract print\nzip\n";
const std::string items =
    "3\nitem_id attribute_labels\nid_00000002 1 -1 0\nid_00000001 -1 -1 -1\nid_00000003 1 1 1\n";

InshopList partition() {
  return parse_inshop_list(list_of(partition_rows), "eval.txt");
}

std::vector<LandmarksOfImage> joined(const std::string& text,
                                     Unlisted unlisted = Unlisted::refuse) {
  return join_landmarks({"lm.txt", text}, partition(), "eval.txt", unlisted);
}

std::string error_with(const std::string& from, const std::string& to) {
  std::string text = landmarks;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return error_of([&] { static_cast<void>(joined(text.replace(at, from.size(), to))); });
}

TEST(LandmarkList, IsJoinedInTheOrderOfThePartition) {
  const std::vector<LandmarksOfImage> all = joined(landmarks);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(all[0].states, ElementsAre(3, 3, 3, 3, 0, 0, 0, 2)) << "lower-body";
  EXPECT_THAT(all[0].positions[4], ElementsAre(1, 2));
  EXPECT_THAT(all[0].positions[6], ElementsAre(5, 6));
  EXPECT_THAT(all[0].positions[7], ElementsAre(0, 0)) << "cut off, so without a position";
  EXPECT_THAT(all[1].states, ElementsAre(0, 0, 0, 0, 0, 0, 0, 1)) << "full-body";
  EXPECT_THAT(all[1].positions[7], ElementsAre(15, 16)) << "occluded, but with a position";
  EXPECT_THAT(all[2].states, ElementsAre(0, 0, 1, 2, 3, 3, 0, 0)) << "upper-body";
  EXPECT_THAT(all[2].positions[0], ElementsAre(146, 13));
  EXPECT_THAT(all[2].positions[7], ElementsAre(159.5F, 149));
}

TEST(LandmarkList, RowsAreChecked) {
  EXPECT_THAT(error_with(" 1 1  0 146", " 4 1  0 146"), HasSubstr("lm.txt:3: clothes type '4'"));
  EXPECT_THAT(error_with(" 1 1  0 146", " 2 1  0 146"),
              HasSubstr("lm.txt:3: clothes type 2 has 4 landmarks of three numbers each, so 15 "
                        "columns, but the row has 21"));
  EXPECT_THAT(error_with("2 9 9\n", "2 9\n"), HasSubstr("lm.txt:4: clothes type 2"));
  EXPECT_THAT(error_with("2 9 9\n", "3 9 9\n"),
              HasSubstr("lm.txt:4: the visibility '3' of landmark 4"));
  for (const char* wrong : {"x", "nan", "inf", "1e40", "1,5"}) {
    EXPECT_THAT(error_with("0 146 013", "0 146 " + std::string(wrong)),
                HasSubstr("lm.txt:3: '" + std::string(wrong) + "' is not a landmark position"))
        << wrong;
  }
}

TEST(LandmarkList, CountsAndHeadsAreChecked) {
  EXPECT_THAT(error_with("3\nimage", "4\nimage"),
              HasSubstr("lm.txt:1: the first line declares 4 rows, but 3 follow"));
  EXPECT_THAT(error_with("image_name clothes", "image clothes"), HasSubstr("lm.txt:2: the second"));
  EXPECT_THAT(error_with("image_name clothes_type variation_type ", "image_name variation_type "),
              HasSubstr("no error"))
      << "only the first name is required";
  EXPECT_THAT(error_with(head, "image_name clothes_type\n"),
              HasSubstr("lm.txt:2: 2 columns instead of at least 3"));
}

TEST(LandmarkList, ImagesAreOfThePartition) {
  EXPECT_THAT(error_with("img/WOMEN/Tees", "img/WOMEN/Coats"),
              HasSubstr("lm.txt:3: image 'img/WOMEN/Coats/id_00000003/01_1_front.jpg' is not in "
                        "'eval.txt'"));
  EXPECT_THAT(error_with("img/MEN/Denim/id_00000001", "img/WOMEN/Tees/id_00000003"),
              HasSubstr("lm.txt:4: image 'img/WOMEN/Tees/id_00000003/01_1_front.jpg' is listed a "
                        "second time; first on line 3"));
  std::string shorter = landmarks;
  shorter.erase(shorter.find("img/WOMEN/Dresses"));
  shorter[0] = '2';
  EXPECT_THAT(error_of([&] { static_cast<void>(joined(shorter)); }),
              HasSubstr("eval.txt:4: image 'img/WOMEN/Dresses/id_00000002/01_1_front.jpg' is not "
                        "in 'lm.txt'"));
}

TEST(LandmarkList, ThoseOfOtherImagesCanBeIgnored) {
  const std::string more =
      "4" + landmarks.substr(1) + "img/WOMEN/Coats/id_00000009/a.jpg 2 1 0 1 2 0 3 4 0 5 6 0 7 8\n";
  EXPECT_THAT(error_of([&] { static_cast<void>(joined(more)); }), HasSubstr("unlisted"));
  EXPECT_EQ(joined(more, Unlisted::ignore).size(), 3U);
}

ItemAttributes attributes(const std::string& name_text, const std::string& item_text,
                          Unlisted unlisted = Unlisted::refuse) {
  return join_attributes({"names.txt", name_text}, {"items.txt", item_text}, partition(),
                         "eval.txt", unlisted);
}

TEST(AttributeLists, AreJoinedByItem) {
  const ItemAttributes found = attributes(names, items);
  EXPECT_EQ(found.count, 3U);
  EXPECT_THAT(found.of_item.at("id_00000002"), ElementsAre(1, 0, 2));
  EXPECT_THAT(found.of_item.at("id_00000001"), Each(0));
  EXPECT_THAT(found.of_item.at("id_00000003"), Each(1));
}

TEST(AttributeLists, AreChecked) {
  const auto error = [](const std::string& from, const std::string& to) {
    std::string text = items;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return error_of([&] { static_cast<void>(attributes(names, text)); });
  };
  EXPECT_THAT(error("1 -1 0", "1 -1"),
              HasSubstr("items.txt:3: 2 labels for 3 attributes of item 'id_00000002'"));
  EXPECT_THAT(error("1 -1 0", "1 -1 0 1"), HasSubstr("items.txt:3: 4 labels for 3 attributes"));
  EXPECT_THAT(error("1 -1 0", "1 -1 2"), HasSubstr("items.txt:3: the label '2' is not 1 (yes)"));
  EXPECT_THAT(error("id_00000001", "id_00000002"),
              HasSubstr("items.txt:4: item 'id_00000002' is listed a second time"));
  EXPECT_THAT(error("id_00000001", "id_00000007"),
              HasSubstr("items.txt:4: item 'id_00000007' is not in 'eval.txt'"));
  EXPECT_THAT(
      error_of([&] {
        static_cast<void>(attributes(names, "1\nitem_id attribute_labels\nid_00000002 1 1 1\n"));
      }),
      HasSubstr("eval.txt:3: item 'id_00000001' is not in 'items.txt'"));
  EXPECT_THAT(error_of([&] { static_cast<void>(attributes("0\nattribute_name\n", items)); }),
              HasSubstr("names.txt:1: no attribute is listed"));
}

}  // namespace landmark_list_test
}  // namespace seam::stages
