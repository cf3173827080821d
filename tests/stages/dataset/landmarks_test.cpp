#include "stages/dataset/landmarks.hpp"

#include <gmock/gmock.h>

#include <seam/conformance.hpp>
#include <seam/listing.hpp>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages::landmarks_test {

using ::testing::Each;
using ::testing::ElementsAre;

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

/// Expects changes to the list to be refused.
void expect_landmark_refusals(const std::vector<Refusal>& refusals) {
  expect_refusals(landmarks, refusals, [](const std::string& text) { (void)joined(text); });
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
  expect_landmark_refusals(
      {{" 1 1  0 146", " 4 1  0 146", "lm.txt:3: clothes type '4'"},
       {" 1 1  0 146", " 2 1  0 146",
        "lm.txt:3: clothes type 2 has 4 landmarks of three numbers each, so 15 columns, but the "
        "row has 21"},
       {"2 9 9\n", "2 9\n", "lm.txt:4: clothes type 2"},
       {"2 9 9\n", "3 9 9\n", "lm.txt:4: the visibility '3' of landmark 4"}});
  for (const std::string wrong : {"x", "nan", "inf", "1e40", "1,5"}) {
    expect_landmark_refusals(
        {{"0 146 013", "0 146 " + wrong, "lm.txt:3: '" + wrong + "' is not a landmark position"}});
  }
}

TEST(LandmarkList, CountsAndHeadsAreChecked) {
  expect_landmark_refusals(
      {{"3\nimage", "4\nimage", "lm.txt:1: the first line declares 4 rows, but 3 follow"},
       {"image_name clothes", "image clothes", "lm.txt:2: the second"},
       {head, "image_name clothes_type\n", "lm.txt:2: 2 columns instead of at least 3"}});
  // Only the first name is required.
  (void)joined(
      replaced(landmarks, "image_name clothes_type variation_type ", "image_name variation_type "));
}

TEST(LandmarkList, ImagesAreOfThePartition) {
  expect_landmark_refusals(
      {{"img/WOMEN/Tees", "img/WOMEN/Coats",
        "lm.txt:3: image 'img/WOMEN/Coats/id_00000003/01_1_front.jpg' is not in 'eval.txt'"},
       {"img/MEN/Denim/id_00000001", "img/WOMEN/Tees/id_00000003",
        "lm.txt:4: image 'img/WOMEN/Tees/id_00000003/01_1_front.jpg' is listed a second time; "
        "first on line 3"},
       {landmarks, "2" + landmarks.substr(1, landmarks.find("img/WOMEN/Dresses") - 1),
        "eval.txt:4: image 'img/WOMEN/Dresses/id_00000002/01_1_front.jpg' is not in 'lm.txt'"}});
}

TEST(LandmarkList, ThoseOfOtherImagesCanBeIgnored) {
  const std::string more =
      "4" + landmarks.substr(1) + "img/WOMEN/Coats/id_00000009/a.jpg 2 1 0 1 2 0 3 4 0 5 6 0 7 8\n";
  EXPECT_REFUSED((void)joined(more), Fault::data, "unlisted");
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
  expect_refusals(
      items,
      {{"1 -1 0", "1 -1", "items.txt:3: 2 labels for 3 attributes of item 'id_00000002'"},
       {"1 -1 0", "1 -1 0 1", "items.txt:3: 4 labels for 3 attributes"},
       {"1 -1 0", "1 -1 2", "items.txt:3: the label '2' is not 1 (yes)"},
       {"id_00000001", "id_00000002", "items.txt:4: item 'id_00000002' is listed a second time"},
       {"id_00000001", "id_00000007", "items.txt:4: item 'id_00000007' is not in 'eval.txt'"},
       {items, "1\nitem_id attribute_labels\nid_00000002 1 1 1\n",
        "eval.txt:3: item 'id_00000001' is not in 'items.txt'"}},
      [](const std::string& text) { (void)attributes(names, text); });
  EXPECT_REFUSED((void)attributes("0\nattribute_name\n", items), Fault::data,
                 "names.txt:1: no attribute is listed");
}

void write_data_set(const TemporaryFolder& folder) {
  folder.write("Eval/list_eval_partition.txt",
               list_of({"img/MEN/Denim/id_00000001/01_1_front.jpg id_00000001 train",
                        "img/WOMEN/Tees/id_00000002/01_1_front.jpg id_00000002 query",
                        "img/WOMEN/Tees/id_00000003/01_1_front.jpg id_00000003 train",
                        "img/WOMEN/Tees/id_00000002/02_1_front.jpg id_00000002 gallery"}));
  folder.write(
      "Anno/list_landmarks_inshop.txt",
      "4\nimage_name clothes_type variation_type landmark_visibility_1\n"
      "img/WOMEN/Tees/id_00000003/01_1_front.jpg 1 1 0 9 9 0 8 8 0 7 7 0 6 6 0 5 5 0 4 4\n"
      "img/MEN/Denim/id_00000001/01_1_front.jpg 2 1 0 1 2 1 3 4 2 5 6 0 7 8\n"
      "img/WOMEN/Tees/id_00000002/01_1_front.jpg 1 1 0 1 1 0 8 8 0 7 7 0 6 6 0 5 5 0 4 4\n"
      "img/WOMEN/Tees/id_00000002/02_1_front.jpg 1 1 0 2 2 0 8 8 0 7 7 0 6 6 0 5 5 0 4 4\n");
  folder.write("Anno/list_attr_cloth.txt", "2\nattribute_name\nzip\nfloral print\n");
  folder.write(
      "Anno/list_attr_items.txt",
      "3\nitem_id attribute_labels\nid_00000001 1 -1\nid_00000002 -1 1\nid_00000003 0 1\n");
  for (const char* image :
       {"MEN/Denim/id_00000001/01_1_front.jpg", "WOMEN/Tees/id_00000002/01_1_front.jpg",
        "WOMEN/Tees/id_00000002/02_1_front.jpg"}) {
    folder.write("img/" + std::string(image), "pixels");
  }
}

const auto conformance = seam::testing::conformance<Landmarks>({
    .parameters = {{"root", std::string("nowhere")}, {"attributes", std::string("field")}},
    .connect = rooted_in(&write_data_set),
    .refused = {{{"attributes", std::string("ignore")}, {"expect_attributes", std::int64_t{2}}}},
});

class LandmarksStage : public DataSetTest<Landmarks, &write_data_set> {};

TEST_F(LandmarksStage, ServesASplitWithItsLandmarks) {
  const auto harness = make();
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 2U);
  const Packet& jeans = harness->outputs()[0];
  EXPECT_EQ(jeans.get(field::item), "id_00000001");
  EXPECT_EQ(jeans.get(field::category), 0);
  EXPECT_EQ(jeans.get(field::path), folder_.path() / "img/MEN/Denim/id_00000001/01_1_front.jpg");
  EXPECT_THAT(jeans.get(field::visibility), ElementsAre(3, 3, 3, 3, 0, 1, 2, 0));
  EXPECT_THAT(jeans.get(field::landmarks)[5], ElementsAre(3, 4));
  EXPECT_FALSE(jeans.has(field::attributes));
  const Packet& tee = harness->outputs()[1];
  EXPECT_EQ(tee.get(field::item), "id_00000003");
  EXPECT_THAT(tee.get(field::landmarks)[0], ElementsAre(9, 9));
  EXPECT_THAT(tee.get(field::visibility), ElementsAre(0, 0, 0, 0, 3, 3, 0, 0));
  EXPECT_THAT(names_of(*harness), ElementsAre("MEN_Denim", "WOMEN_Tees"));
}

TEST_F(LandmarksStage, GivesAFoldTheLandmarksOfItsOwnImages) {
  for (const char* part : {"train", "held_out"}) {
    const auto harness = make();
    harness->set("folds", 2).set("part", part).produce();
    ASSERT_EQ(harness->outputs().size(), 1U);
    const Packet& packet = harness->outputs()[0];
    const bool jeans = packet.get(field::item) == "id_00000001";
    EXPECT_EQ(packet.get(field::visibility)[0], jeans ? 3 : 0);
  }
}

TEST_F(LandmarksStage, HandsOnTheAttributesOfTheItem) {
  const auto harness = make();
  harness->set("attributes", "field").set("split", "gallery").set("expect_attributes", 2).produce();
  ASSERT_EQ(harness->outputs().size(), 1U);
  EXPECT_THAT(harness->outputs()[0].get(field::attributes), ElementsAre(0, 1));
  EXPECT_THAT(harness->outputs()[0].get(field::landmarks)[0], ElementsAre(2, 2));
  const auto train = make();
  train->set("attributes", "field").produce();  // labels 1 -1 and 0 1
  EXPECT_THAT(train->log(), has_line("a fraction of 0.666667 is positive"));
  EXPECT_REFUSED(make()->set("attributes", "field").set("expect_attributes", 463).open(),
                 Fault::data, "2 attributes, but 463 were expected");
}

/// So that --resume notices other landmarks and attributes.
TEST_F(LandmarksStage, ItsListingDependsOnTheListsItReads) {
  const auto digest = [this](const char* attributes) {
    const auto harness = make();
    harness->set("attributes", attributes).open();
    return interface_of<Listing>(*harness).listing_digest();
  };
  const std::uint64_t before = digest("ignore");
  const std::uint64_t with_attributes = digest("field");
  folder_.write(
      "Anno/list_attr_items.txt",
      "3\nitem_id attribute_labels\nid_00000001 1 1\nid_00000002 -1 1\nid_00000003 0 1\n");
  EXPECT_EQ(digest("ignore"), before);
  EXPECT_NE(digest("field"), with_attributes);
  const std::string list = "Anno/list_landmarks_inshop.txt";
  folder_.write(list,
                replaced(test::text_of_file(folder_.path() / list), "1 1 0 9 9", "1 1 0 9 5"));
  EXPECT_NE(digest("ignore"), before);
}

/// `seam check` reports it if it is missing, and a run records its content.
TEST_F(LandmarksStage, SaysWhichListIsMissing) {
  std::filesystem::remove(folder_.path() / "Anno/list_attr_items.txt");
  EXPECT_REFUSED(make()->set("attributes", "field").open(), Fault::data,
                 "list_attr_items.txt', In-Shop's list of the attributes of items");
  std::filesystem::remove(folder_.path() / "Anno/list_landmarks_inshop.txt");
  EXPECT_REFUSED(make()->open(), Fault::data, "use dataset.inshop");
}

}  // namespace seam::stages::landmarks_test
