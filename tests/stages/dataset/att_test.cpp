#include "stages/dataset/att.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>
#include <string>
#include <vector>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages::att_test {

using ::testing::HasSubstr;

/// Eleven subjects with two pictures each: s10 sorts before s2 by name.
void write_faces(const TemporaryFolder& folder) {
  write_file(folder.path() / "README", "faces");
  for (int subject = 1; subject <= 11; ++subject) {
    for (const char* file : {"1.pgm", "2.pgm"}) {
      write_file(folder.path() / ("s" + std::to_string(subject)) / file, "P5");
    }
  }
}

const auto conformance = testing::conformance<Att>({
    .parameters = {{"root", std::string("nowhere")},
                   {"subjects", std::int64_t{11}},
                   {"images", std::int64_t{2}}},
    .connect =
        [](testing::Harness& harness) {
          auto folder = shared_folder(&write_faces);
          harness.set("root", folder->path().string());
          return folder;
        },
    .refused = {{{"fold", std::int64_t{1}}}, {{"part", std::string("held_out")}}},
});

class AttStage : public ::testing::Test {
 protected:
  AttStage() { write_faces(folder_); }
  [[nodiscard]] std::unique_ptr<testing::Harness> make() const {
    auto harness = std::make_unique<testing::Harness>("items", std::make_unique<Att>());
    harness->set("root", folder_.path().string()).set("subjects", 11).set("images", 2);
    return harness;
  }
  TemporaryFolder folder_;
};

TEST_F(AttStage, ServesSubjectsByNumber) {
  const auto harness = make();
  harness->produce();
  ASSERT_EQ(harness->outputs().size(), 22U);
  const Packet& third = harness->outputs()[3];
  EXPECT_EQ(third.get(field::item), "s2");
  EXPECT_EQ(third.get(field::category), 1);
  EXPECT_EQ(third.get(field::index), 3);
  EXPECT_EQ(third.origin().item, "s2/2.pgm");
  EXPECT_EQ(harness->outputs().back().get(field::item), "s11");
  EXPECT_EQ(names_of(*harness).size(), 11U);
}

TEST_F(AttStage, ServesChosenPicturesOfEachSubjectUnderTheirIndices) {
  const auto harness = make();
  harness->set("pictures", std::vector<std::int64_t>{2}).produce();
  ASSERT_EQ(harness->outputs().size(), 11U);
  for (std::size_t subject = 0; subject < 11; ++subject) {
    const Packet& packet = harness->outputs()[subject];
    EXPECT_EQ(packet.origin().item, "s" + std::to_string(subject + 1) + "/2.pgm");
    EXPECT_EQ(packet.get(field::index), static_cast<std::int64_t>(2 * subject + 1));
  }
  EXPECT_EQ(names_of(*harness).size(), 11U);
}

TEST_F(AttStage, RefusesPicturesThatSubjectsDoNotHaveOrThatComeTwice) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_THAT(error_of([&] {
                make()->set("pictures", Numbers{1, 3}).open();
              }),
              HasSubstr("'pictures' has 3, but each subject has 2 images"));
  EXPECT_THAT(error_of([&] {
                make()->set("pictures", Numbers{2, 2}).open();
              }),
              HasSubstr("'pictures' has 2 twice"));
}

TEST_F(AttStage, FoldsShareNoSubject) {
  const auto subjects = [&](const char* part) {
    const auto harness = make();
    harness->set("folds", 4).set("fold", 1).set("part", part).produce();
    ServedItems::Names found;
    for (const Packet& packet : harness->outputs()) found.insert(packet.get(field::item));
    EXPECT_EQ(served_of(*harness), found);
    return found;
  };
  const ServedItems::Names train = subjects("train");
  const ServedItems::Names held_out = subjects("held_out");
  EXPECT_EQ(train.size() + held_out.size(), 11U);
  for (const std::string& subject : held_out) EXPECT_FALSE(train.contains(subject));
}

TEST_F(AttStage, RefusesAnotherNumberOfSubjectsOrPictures) {
  EXPECT_THAT(error_of([&] { make()->set("subjects", 12).open(); }), HasSubstr("s12' is missing"));
  EXPECT_THAT(error_of([&] { make()->set("subjects", 10).open(); }), HasSubstr("s11' exists"));
  EXPECT_THAT(error_of([&] { make()->set("images", 1).open(); }), HasSubstr("s1/2.pgm' exists"));
  std::filesystem::remove(folder_.path() / "s7/1.pgm");
  EXPECT_THAT(error_of([&] { make()->open(); }), HasSubstr("s7/1.pgm' is missing"));
  EXPECT_THAT(error_of([&] { make()->set("root", "nowhere").open(); }),
              HasSubstr("no folder 'nowhere'"));
}

TEST(AttFaces, AreAllThere) {
  const char* const data = std::getenv("SEAM_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "SEAM_TEST_DATA names no folder with att_faces";
  const auto root = std::filesystem::path(data) / "att_faces";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "no att_faces in SEAM_TEST_DATA";
  for (const int fold : {0, 7}) {
    testing::Harness harness("items", std::make_unique<Att>());
    harness.set("root", root.string()).set("folds", 8).set("fold", fold).set("part", "held_out");
    harness.produce();
    EXPECT_EQ(harness.outputs().size(), 50U);
  }
}

}  // namespace seam::stages::att_test
