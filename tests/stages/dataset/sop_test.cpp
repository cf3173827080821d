#include "stages/dataset/sop.hpp"

#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::sop_test {

const std::string head = "image_id class_id super_class_id path\n";
const std::string train_rows =
    "1 1 1 bicycle_final/111_0.JPG\n2 1 1 bicycle_final/111_1.JPG\n"
    "3 2 3 chair_final/222_0.JPG\n4 2 3 chair_final/222_1.JPG\n5 3 3 chair_final/333_0.JPG\n";
const std::string test_rows =
    "6 4 1 bicycle_final/444_0.JPG\n7 4 1 bicycle_final/444_1.JPG\n8 5 3 chair_final/555_0.JPG\n";

void write_data_set(const TemporaryFolder& folder) {
  folder.write("Ebay_train.txt", head + train_rows);
  folder.write("Ebay_test.txt", head + test_rows);
  folder.write("Ebay_info.txt", head + train_rows + test_rows);
  folder.write("bicycle_final/111_0.JPG", "pixels");
  folder.write("bicycle_final/444_0.JPG", "pixels");
}

const auto conformance = seam::testing::conformance<Sop>({
    .parameters = {{"root", std::string("nowhere")}},
    .connect = rooted_in(&write_data_set),
    .refused = {{{"folds", std::int64_t{2}}, {"hold_out", std::int64_t{1}}}},
});

SopLists join(const std::string& train, const std::string& test,
              const std::optional<std::string>& info = {}) {
  return join_sop_lists({"train.txt", train}, {"test.txt", test},
                        info ? std::optional(ListText{"info.txt", *info}) : std::nullopt);
}

/// Expects changes to a list to be refused.
void expect_train_refusals(const std::vector<Refusal>& refusals) {
  expect_refusals(head + train_rows, refusals,
                  [](const std::string& text) { (void)join(text, head + test_rows); });
}
void expect_test_refusals(const std::vector<Refusal>& refusals) {
  expect_refusals(head + test_rows, refusals,
                  [](const std::string& text) { (void)join(head + train_rows, text); });
}

TEST(SopLists, AreReadAsTheyArePublished) {
  const SopLists lists = join(head + train_rows, head + test_rows, head + train_rows + test_rows);
  EXPECT_EQ(lists.counts[0], (SopCounts{5, 3}));
  EXPECT_EQ(lists.counts[1], (SopCounts{3, 2}));
  const SopRow& row = lists.rows[0].at(2);
  EXPECT_EQ(row.path, "chair_final/222_0.JPG");
  EXPECT_EQ(row.image, 3);
  EXPECT_EQ(row.item, 2);
  EXPECT_EQ(row.category, 2);  // counted from 0
  EXPECT_EQ(row.line, 4);
  // Nothing here is of super-class 2.
  EXPECT_THAT(lists.categories, ElementsAre("bicycle", "super-class 2", "chair"));
  EXPECT_EQ(lists.lone_test_images, 1);
  EXPECT_EQ(lists.not_in_info, 0);
  EXPECT_EQ(lists.only_in_info, 0);
}

TEST(SopLists, WindowsLinesAndBlankEndsAreRead) {
  EXPECT_EQ(join(as_on_windows(head + train_rows) + "\r\n\n", head + test_rows).counts[0],
            (SopCounts{5, 3}));
  std::string text = head + train_rows;
  text.pop_back();
  EXPECT_EQ(join(text, head + test_rows).counts[0], (SopCounts{5, 3}));
}

TEST(SopLists, ASuperClassInSeveralFoldersHasItsNumberAsName) {
  const SopLists lists =
      join(replaced(head + train_rows, "chair_final/333", "sofa_final/333"), head + test_rows);
  EXPECT_EQ(lists.categories.at(2), "super-class 3");
}

TEST(SopLists, ColumnsAndIdsAreChecked) {
  const std::string path = "chair_final/222_0.JPG";
  expect_train_refusals(
      {{head, "", "train.txt:1: the first line must hold the column names"},
       {head + train_rows, "", "train.txt:1: the list has no images"},
       {"222_0.JPG", "222 0.JPG", "train.txt:4: 5 columns instead of 4"},
       {"3 2 3 ", "\n3 2 3 ", "train.txt:4: the line is blank, but rows follow"},
       {"3 2 3 ", "0 2 3 ", "train.txt:4: image_id is '0', but must be a whole number from 1"},
       {"3 2 3 ", "-3 2 3 ", "train.txt:4: image_id is '-3'"},
       {"3 2 3 ", "x 2 3 ", "train.txt:4: image_id is 'x'"},
       {"3 2 3 ", "3 2.0 3 ", "train.txt:4: class_id is '2.0'"},
       {"3 2 3 ", "3 2 4097 ",
        "super_class_id is '4097', but must be a whole number from 1 to 4096"},
       {path, "/a/222_0.JPG", "train.txt:4: path"},
       {path, "../222_0.JPG", "train.txt:4: path"},
       {path, "chair_final//222_0.JPG", "train.txt:4: path"}});
  expect_test_refusals({{test_rows, "", "test.txt:1: the list has no images"}});
}

TEST(SopLists, WhatIsListedTwiceIsRefused) {
  expect_test_refusals(
      {{"7 4 1", "2 4 1", "test.txt:3: image_id 2 is listed a second time; first in train.txt:3"},
       {"444_0", "111_1", "test.txt:2: image 'bicycle_final/111_1.JPG' is listed a second time"},
       {"8 5 3", "8 2 3", "test.txt:4: class 2 is in train.txt:4 too"}});
}

TEST(SopLists, InfoIsComparedWithTheOthers) {
  const std::string both = head + train_rows + test_rows;
  EXPECT_REFUSED(
      (void)join(head + train_rows, head + test_rows, replaced(both, "3 2 3", "3 9 3")),
      Fault::data,
      "info.txt:4: image_id 3 has a different class, super-class or path than in train.txt:4");
  const SopLists fewer = join(head + train_rows, head + test_rows, head + train_rows);
  EXPECT_EQ(fewer.not_in_info, 3);
  EXPECT_EQ(fewer.only_in_info, 0);
  const SopLists more =
      join(head + train_rows, head + test_rows, both + "9 6 1 bicycle_final/666_0.JPG\n");
  EXPECT_EQ(more.not_in_info, 0);
  EXPECT_EQ(more.only_in_info, 1);
}

class SopStage : public DataSetTest<Sop, &write_data_set> {};

TEST_F(SopStage, ServesASplit) {
  const auto harness = make();
  harness->set("split", "test").produce();
  ASSERT_EQ(harness->outputs().size(), 3U);
  const Packet& last = harness->outputs()[2];
  EXPECT_EQ(last.get(field::path), folder_.path() / "chair_final/555_0.JPG");
  EXPECT_EQ(last.get(field::item), "5");
  EXPECT_EQ(last.get(field::category), 2);
  EXPECT_EQ(last.get(field::index), 2);
  EXPECT_THAT(last.origin().text(), HasSubstr("Ebay_test.txt:4"));
  EXPECT_THAT(names_of(*harness), ElementsAre("bicycle", "super-class 2", "chair"));
  EXPECT_THAT(harness->log(), has_line("1 test image has no other image"));
}

TEST_F(SopStage, OtherCountsThanThePublishedAreMarked) {
  const auto harness = make();
  harness->set("split", "test").open();
  EXPECT_THAT(
      difference_of(*harness),
      AllOf(HasSubstr("the train list has 5 images of 3 classes instead of the published 59,551 "
                      "images of 11,318 classes"),
            HasSubstr("the test list has 3 images of 2 classes instead of the published 60,502"),
            Not(HasSubstr("of the train list"))));
  EXPECT_THAT(harness->log(), has_line("not comparable with published"));
}

TEST_F(SopStage, HoldsClassesOutForValidation) {
  std::set<std::string> items;
  std::size_t images = 0;
  for (const char* part : {"train", "held_out"}) {
    const auto harness = make();
    harness->set("hold_out", 1).set("part", part).produce();
    std::set<std::string> here;
    for (const Packet& packet : harness->outputs()) here.insert(packet.get(field::item));
    EXPECT_EQ(here.size(), std::string(part) == "train" ? 2U : 1U);
    for (const std::string& item : here) EXPECT_TRUE(items.insert(item).second) << item;
    images += harness->outputs().size();
    EXPECT_THAT(difference_of(*harness), HasSubstr("images of the train list"));
    EXPECT_THAT(difference_of(*harness), HasSubstr(" of 5 images of the list"));
  }
  EXPECT_EQ(images, 5U);
}

TEST_F(SopStage, WorksWithoutInfoAndWarnsOfAnother) {
  std::filesystem::remove(folder_.path() / "Ebay_info.txt");
  EXPECT_EQ(error_of([&] { make()->open(); }), "no error");
  folder_.write("Ebay_info.txt", head + train_rows);
  const auto harness = make();
  harness->open();
  EXPECT_THAT(harness->log(), has_line("it lacks 3 of them and has 0 others"));
}

TEST_F(SopStage, AMissingListOrPictureIsNamed) {
  std::filesystem::remove(folder_.path() / "bicycle_final/111_0.JPG");
  EXPECT_REFUSED(make()->open(), Fault::data, "111_0.JPG' is missing");
  std::filesystem::remove(folder_.path() / "Ebay_test.txt");
  EXPECT_REFUSED(make()->open(), Fault::data, "no file");
}

/// The published lists' sizes, made up: no image exists, so only the lists are read.
TEST(SopCounts, OfThePublishedListsAreAccepted) {
  const auto list = [](std::int64_t first_image, std::int64_t images, std::int64_t first_class,
                       std::int64_t classes) {
    std::string text = head;
    for (std::int64_t i = 0; i < images; ++i) {
      const std::int64_t item = first_class + i % classes;
      const std::int64_t category = item % 12;
      text += std::to_string(first_image + i) + " " + std::to_string(item) + " " +
              std::to_string(category + 1) + " super" + std::to_string(category) + "_final/" +
              std::to_string(first_image + i) + ".JPG\n";
    }
    return text;
  };
  const SopLists lists = join(list(1, 59'551, 1, 11'318), list(59'552, 60'502, 11'319, 11'316));
  EXPECT_EQ(lists.counts, published_sop_counts());
  EXPECT_EQ(lists.categories.size(), 12U);
  EXPECT_EQ(lists.lone_test_images, 0);
}

}  // namespace seam::stages::sop_test
