#include "stages/dataset/lfw.hpp"

#include <seam/conformance.hpp>

#include "tests/stages/dataset/lfw_folder.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::lfw_test {

const auto conformance = testing::conformance<Lfw>({
    .parameters = {{"root", std::string("nowhere")}, {"expect", std::int64_t{0}}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder(&write_faces);
          harness.set("root", (folder->path() / "lfw").string());
          return folder;
        },
    .refused = {{{"leave_out_fold", std::int64_t{1}}}, {{"fold", std::int64_t{1}}}},
});

class LfwStage : public ::testing::Test {
 protected:
  LfwStage() { write_faces(folder_); }
  [[nodiscard]] std::unique_ptr<testing::Harness> images() const {
    auto harness = std::make_unique<testing::Harness>("images", std::make_unique<Lfw>());
    harness->set("root", (folder_.path() / "lfw").string()).set("expect", 9);
    return harness;
  }
  TemporaryFolder folder_;
};

TEST_F(LfwStage, ImagesOfAllPeople) {
  const auto harness = images();
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 9U);
  EXPECT_EQ(harness->outputs()[8].origin().item, "Dee_Dee/Dee_Dee_0003.jpg");
  EXPECT_EQ(harness->outputs()[8].get(field::category), 3);
  EXPECT_THAT(names_of(*harness), ElementsAre("Ann", "Bob", "Cid", "Dee_Dee"));
}

TEST_F(LfwStage, PeopleOfAListAreLeftOut) {
  const auto harness = images();
  harness->set("leave_out", (folder_.path() / "pairs.txt").string()).set("leave_out_fold", 0);
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 5U);
  EXPECT_EQ(harness->outputs()[0].get(field::item), "Cid");
  EXPECT_EQ(harness->outputs()[0].get(field::index), 4);
  EXPECT_REFUSED(images()->set("leave_out", (folder_.path() / "pairs.txt").string()).open(),
                 Fault::data, "no image");
}

TEST_F(LfwStage, OnlyPeopleOfAListAreServed) {
  folder_.write("dev.txt", "1\nBob\t1\t2\nBob\t1\tDee_Dee\t3\n");
  const std::string dev = (folder_.path() / "dev.txt").string();
  const auto harness = images();
  harness->set("only", dev).produce();
  ASSERT_EQ(harness->outputs().size(), 5U);
  EXPECT_EQ(harness->outputs()[2].get(field::item), "Dee_Dee");
  EXPECT_EQ(harness->outputs()[2].get(field::index), 6) << "the position in the whole data set";
  EXPECT_THAT(served_of(*harness), ElementsAre("Bob", "Dee_Dee"));

  const auto less = images();
  less->set("only", dev).set("leave_out", (folder_.path() / "pairs.txt").string());
  less->set("leave_out_fold", 0).produce();
  EXPECT_EQ(less->outputs().size(), 3U) << "Bob is in the fold that is left out";
  EXPECT_THAT(served_of(*less), ElementsAre("Dee_Dee"));
  EXPECT_THAT(less->log().front().text, HasSubstr("3 images of 1 person; 3 people not served"));
}

TEST_F(LfwStage, PeopleWhoAreNotThereCannotBeServedAlone) {
  folder_.write("dev.txt", "1\nBob\t1\t2\nBob\t1\tEve\t1\n");
  const std::string dev = (folder_.path() / "dev.txt").string();
  EXPECT_REFUSED(images()->set("only", dev).open(), Fault::data,
                 "dev.txt' has 'Eve', who has no folder");
  EXPECT_EQ(error_of([&] { images()->set("only", dev).set("expect", 0).open(); }), "no error");
}

TEST_F(LfwStage, AnotherCopyIsRefused) {
  EXPECT_REFUSED(images()->set("expect", 13'233).open(), Fault::data,
                 "9 images, but 13,233 are expected");
  std::filesystem::remove(folder_.path() / "lfw/Cid/Cid_0001.jpg");
  EXPECT_REFUSED(images()->open(), Fault::data, "'Cid/Cid_0001.jpg' was expected");
}

}  // namespace seam::stages::lfw_test
