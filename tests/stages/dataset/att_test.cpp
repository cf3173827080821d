#include "stages/dataset/att.hpp"

#include <gmock/gmock.h>

#include <seam/conformance.hpp>

#include "tests/stages/dataset/layout.hpp"

namespace seam::stages::att_test {

/// Eleven subjects with two pictures each: s10 sorts before s2 by name.
void write_faces(const TemporaryFolder& folder) {
  folder.write("README", "faces");
  for (int subject = 1; subject <= 11; ++subject) {
    for (const char* file : {"/1.pgm", "/2.pgm"}) {
      folder.write("s" + std::to_string(subject) + file, "P5");
    }
  }
}

const auto conformance = testing::conformance<Att>({
    .parameters = {{"root", std::string("nowhere")},
                   {"subjects", std::int64_t{11}},
                   {"images", std::int64_t{2}}},
    .connect = rooted_in(&write_faces),
    .refused = {{{"fold", std::int64_t{1}}}, {{"part", std::string("held_out")}}},
});

class AttStage : public DataSetTest<Att, &write_faces> {
 protected:
  [[nodiscard]] std::unique_ptr<testing::Harness> make() const {
    auto harness = DataSetTest::make();
    harness->set("subjects", 11).set("images", 2);
    return harness;
  }
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
  EXPECT_REFUSED(make()->set("pictures", Numbers{1, 3}).open(), Fault::data,
                 "'pictures' has 3, but each subject has 2 images");
  EXPECT_REFUSED(make()->set("pictures", Numbers{2, 2}).open(), Fault::data,
                 "'pictures' has 2 twice");
}

TEST_F(AttStage, RefusesAnotherNumberOfSubjectsOrPictures) {
  EXPECT_REFUSED(make()->set("subjects", 12).open(), Fault::data, "s12' is missing");
  EXPECT_REFUSED(make()->set("subjects", 10).open(), Fault::data, "s11' exists");
  EXPECT_REFUSED(make()->set("images", 1).open(), Fault::data, "s1/2.pgm' exists");
  std::filesystem::remove(folder_.path() / "s7/1.pgm");
  EXPECT_REFUSED(make()->open(), Fault::data, "s7/1.pgm' is missing");
  EXPECT_REFUSED(make()->set("root", "nowhere").open(), Fault::data, "no folder 'nowhere'");
}

TEST(AttFaces, AreAllThere) {
  const auto root = test_data("att_faces");
  if (root.empty()) GTEST_SKIP() << "no att_faces in SEAM_TEST_DATA";
  for (const int fold : {0, 7}) {
    testing::Harness harness("items", std::make_unique<Att>());
    harness.set("root", root.string()).set("folds", 8).set("fold", fold).set("part", "held_out");
    harness.produce();
    EXPECT_EQ(harness.outputs().size(), 50U);
  }
}

}  // namespace seam::stages::att_test
