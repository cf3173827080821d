#include "stages/dataset/landmarks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <string>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {
namespace landmarks_test {

using seam::testing::Harness;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

void write_data_set(const TemporaryFolder& folder) {
  write_file(folder.path() / "Eval/list_eval_partition.txt",
             list_of({"img/MEN/Denim/id_00000001/01_1_front.jpg id_00000001 train",
                      "img/WOMEN/Tees/id_00000002/01_1_front.jpg id_00000002 query",
                      "img/WOMEN/Tees/id_00000003/01_1_front.jpg id_00000003 train",
                      "img/WOMEN/Tees/id_00000002/02_1_front.jpg id_00000002 gallery"}));
  write_file(folder.path() / "Anno/list_landmarks_inshop.txt",
             "4\nimage_name clothes_type variation_type landmark_visibility_1\n"
             "img/WOMEN/Tees/id_00000003/01_1_front.jpg 1 1 0 9 9 0 8 8 0 7 7 0 6 6 0 5 5 0 4 4\n"
             "img/MEN/Denim/id_00000001/01_1_front.jpg 2 1 0 1 2 1 3 4 2 5 6 0 7 8\n"
             "img/WOMEN/Tees/id_00000002/01_1_front.jpg 1 1 0 1 1 0 8 8 0 7 7 0 6 6 0 5 5 0 4 4\n"
             "img/WOMEN/Tees/id_00000002/02_1_front.jpg 1 1 0 2 2 0 8 8 0 7 7 0 6 6 0 5 5 0 4 4\n");
  write_file(folder.path() / "Anno/list_attr_cloth.txt", "2\nattribute_name\nzip\nfloral print\n");
  write_file(folder.path() / "Anno/list_attr_items.txt",
             "3\nitem_id attribute_labels\nid_00000001 1 -1\nid_00000002 -1 1\nid_00000003 0 1\n");
  for (const char* image :
       {"MEN/Denim/id_00000001/01_1_front.jpg", "WOMEN/Tees/id_00000002/01_1_front.jpg",
        "WOMEN/Tees/id_00000002/02_1_front.jpg"}) {
    write_file(folder.path() / "img" / image, "pixels");
  }
}

const auto conformance = seam::testing::conformance<Landmarks>({
    .parameters = {{"root", std::string("nowhere")}, {"attributes", std::string("field")}},
    .connect =
        [](Harness& harness) {
          auto folder = shared_folder(&write_data_set);
          harness.set("root", folder->path().string());
          return folder;
        },
    .refused = {{{"attributes", std::string("ignore")}, {"expect_attributes", std::int64_t{2}}}},
});

class LandmarksStage : public ::testing::Test {
 protected:
  LandmarksStage() { write_data_set(folder_); }
  [[nodiscard]] std::unique_ptr<Harness> make() const {
    auto harness = std::make_unique<Harness>("items", std::make_unique<Landmarks>());
    harness->set("root", folder_.path().string());
    return harness;
  }
  TemporaryFolder folder_;
};

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
  EXPECT_THAT(train->log(), Contains(Field(&testing::LogLine::text,
                                           HasSubstr("a fraction of 0.666667 is positive"))));
  EXPECT_THAT(
      error_of([this] { make()->set("attributes", "field").set("expect_attributes", 463).open(); }),
      HasSubstr("2 attributes, but 463 were expected"));
}

TEST_F(LandmarksStage, SaysWhichListIsMissing) {
  std::filesystem::remove(folder_.path() / "Anno/list_attr_items.txt");
  EXPECT_THAT(error_of([this] { make()->set("attributes", "field").open(); }),
              HasSubstr("list_attr_items.txt', In-Shop's list of the attributes of items"));
  std::filesystem::remove(folder_.path() / "Anno/list_landmarks_inshop.txt");
  EXPECT_THAT(error_of([this] { make()->open(); }), HasSubstr("use dataset.inshop"));
}

TEST_F(LandmarksStage, ChecksTheCountsOfThePartition) {
  EXPECT_THAT(error_of([this] { make()->set("expect_query", 14218).open(); }),
              HasSubstr("1 query images, but 14218 were expected"));
}

}  // namespace landmarks_test
}  // namespace seam::stages
