#include "stages/dataset/inshop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <string>
#include <vector>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages {
namespace inshop_test {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

void inshop_list(const TemporaryFolder& folder, const std::string& name) {
  write_file(folder.path() / name,
             list_of({"img/MEN/Denim/id_00000001/01_1_front.jpg id_00000001 train",
                      "img/WOMEN/Skirts/id_00000002/01_1_front.jpg id_00000002 query",
                      "img/MEN/Denim/id_00000001/01_2_side.jpg id_00000001 train",
                      "img/WOMEN/Skirts/id_00000002/02_1_front.jpg id_00000002 gallery",
                      "img/WOMEN/Dresses/id_00000003/01_1_front.jpg id_00000003 train"}));
}

void write_data_set(const TemporaryFolder& folder) {
  inshop_list(folder, "Eval/list_eval_partition.txt");
  write_file(folder.path() / "img/MEN/Denim/id_00000001/01_1_front.jpg", "pixels");
  write_file(folder.path() / "img/WOMEN/Skirts/id_00000002/01_1_front.jpg", "pixels");
  write_file(folder.path() / "img/WOMEN/Skirts/id_00000002/02_1_front.jpg", "pixels");
}

const auto conformance = testing::conformance<Inshop>({
    .parameters = {{"root", std::string("nowhere")}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder(&write_data_set);
          harness.set("root", folder->path().string());
          return folder;
        },
});

class InshopStage : public ::testing::Test {
 protected:
  InshopStage() { write_data_set(folder_); }
  void write_list(const std::string& name) const { inshop_list(folder_, name); }
  [[nodiscard]] std::unique_ptr<testing::Harness> make() const {
    auto harness = std::make_unique<testing::Harness>("items", std::make_unique<Inshop>());
    harness->set("root", folder_.path().string());
    return harness;
  }
  static std::vector<std::int64_t> indices(const testing::Harness& harness) {
    std::vector<std::int64_t> found;
    for (const Packet& packet : harness.outputs()) found.push_back(packet.get(field::index));
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(InshopStage, AnotherListThanTheOfficialOneIsMarked) {
  const auto query = make();
  query->set("split", "query").open();
  EXPECT_EQ(difference_of(*query),
            "the train split has 3 images of 2 items instead of the official 25,882 of 3,997, the "
            "query split has 1 image of 1 item instead of the official 14,218 of 3,985, the "
            "gallery split has 1 image of 1 item instead of the official 12,612 of 3,985, 3 "
            "categories instead of the official 23");
  EXPECT_THAT(query->log(),
              Contains(Field(&testing::LogLine::text,
                             HasSubstr("not the data of published results: the train"))));
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

TEST_F(InshopStage, StartsAgainInTheNextFlow) {
  const auto harness = make();
  harness->produce(2).finish();
  (void)harness->take_outputs();
  harness->produce();

  EXPECT_THAT(indices(*harness), ElementsAre(0, 1, 2));
}

TEST_F(InshopStage, LimitsAndSaysSo) {
  const auto harness = make();
  harness->set("limit", 2).produce();

  EXPECT_THAT(indices(*harness), ElementsAre(0, 1));
  EXPECT_THAT(harness->log(), Contains(Field(&testing::LogLine::text, HasSubstr("2 of 3 train"))));
}

TEST_F(InshopStage, ServesAFoldWithTheIndicesOfTheSplit) {
  // Item 1 has images 0 and 1, item 3 has image 2.
  std::vector<std::vector<std::int64_t>> parts;
  for (const char* part : {"train", "held_out"}) {
    const auto harness = make();
    harness->set("folds", 2).set("part", part).produce();
    parts.push_back(indices(*harness));
  }
  std::sort(parts.begin(), parts.end());
  EXPECT_THAT(parts, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(error_of([this] { make()->set("folds", 3).open(); }),
              HasSubstr("too few for 3 folds"));
  EXPECT_THAT(error_of([this] { make()->set("folds", 2).set("fold", 2).open(); }),
              HasSubstr("folds count from 0"));
}

TEST_F(InshopStage, ReportsTheList) {
  const auto harness = make();
  harness->produce();

  EXPECT_THAT(harness->log(),
              Contains(Field(&testing::LogLine::text, HasSubstr("1 train item has one image"))));
}

TEST_F(InshopStage, ReadsAnotherList) {
  std::filesystem::remove(folder_.path() / "Eval/list_eval_partition.txt");
  write_list("Eval/small/list.txt");
  const auto harness = make();
  harness->set("list", "Eval/small/list.txt").produce();

  EXPECT_EQ(harness->outputs().size(), 3U);
}

TEST_F(InshopStage, RefusesUnexpectedCounts) {
  EXPECT_THAT(error_of([this] { make()->set("expect_query", 14'218).open(); }),
              HasSubstr("14218 were expected"));
}

TEST_F(InshopStage, SaysWhatIsMissing) {
  EXPECT_THAT(error_of([this] { make()->set("root", "/nowhere").open(); }), HasSubstr("/nowhere"));
  EXPECT_THAT(error_of([this] { make()->set("list", "none.txt").open(); }), HasSubstr("none.txt"));
  std::filesystem::remove_all(folder_.path() / "img");
  EXPECT_THAT(error_of([this] { make()->open(); }), HasSubstr("01_1_front.jpg' is missing"));
}

TEST_F(InshopStage, RefusesAnEmptySplit) {
  write_file(folder_.path() / "Eval/list_eval_partition.txt",
             list_of({"img/MEN/Denim/id_00000001/01_1_front.jpg id_00000001 train"}));
  EXPECT_THAT(error_of([this] { make()->set("split", "query").open(); }),
              HasSubstr("has no query images"));
}

}  // namespace inshop_test
}  // namespace seam::stages
