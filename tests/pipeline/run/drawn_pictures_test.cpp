#include "pipeline/run/drawn_pictures.hpp"

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::drawn_pictures_test {

using seam::test::TemporaryFolder;

class DrawnPicturesTest : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    folder_.write("pictures/" + file, text);
  }
  [[nodiscard]] std::vector<std::string> titles() const {
    std::vector<std::string> titles;
    for (const DrawnPicture& picture : drawn_pictures(folder_.path(), "evaluate", 12).pictures) {
      titles.push_back(picture.title);
    }
    return titles;
  }

  TemporaryFolder folder_;
};

TEST_F(DrawnPicturesTest, AreTitledByTheWayToThem) {
  write("fed/epoch-0012.json",
        R"({"format": 1, "kind": "fed", "flow": "evaluate", "sheets": [
            {"title": "Batch 1", "file": "epoch-0012/batch-0.jpg"}]})");
  write("near/epoch-0012.json",
        R"({"format": 1, "kind": "neighbours", "flow": "evaluate", "groups": [
            {"title": "Best", "queries": [{"query": {"file": "epoch-0012/1.jpg"},
              "neighbours": [{"file": "epoch-0012/2.jpg"}, {"problem": "gone"}]}]}]})");
  EXPECT_THAT(titles(), ElementsAre("evaluate/fed/Batch 1", "evaluate/near/Best/queries 1/query",
                                    "evaluate/near/Best/queries 1/neighbours 1"));
  const auto drawn = drawn_pictures(folder_.path(), "evaluate", 12);
  EXPECT_EQ(drawn.pictures.front().file, folder_.path() / "pictures/fed/epoch-0012/batch-0.jpg");
  EXPECT_THAT(drawn.problems, IsEmpty());
}

TEST_F(DrawnPicturesTest, AreOneSheetIfTheSetHasIt) {
  write("near/epoch-0012.json",
        R"({"format": 1, "kind": "neighbours", "flow": "evaluate", "sheet": "epoch-0012/sheet.jpg",
            "groups": [{"title": "Best", "queries": [{"query": {"file": "epoch-0012/1.jpg"}}]}]})");
  EXPECT_THAT(titles(), ElementsAre("evaluate/near"));
  const auto drawn = drawn_pictures(folder_.path(), "evaluate", 12);
  EXPECT_EQ(drawn.pictures.front().file, folder_.path() / "pictures/near/epoch-0012/sheet.jpg");
}

TEST_F(DrawnPicturesTest, AreThoseOfTheFlowAndTheEpoch) {
  const auto none = drawn_pictures(folder_.path(), "evaluate", 12);
  EXPECT_THAT(none.pictures, IsEmpty());
  EXPECT_THAT(none.problems, IsEmpty());
  const std::string sheets = R"("sheets": [{"title": "a", "file": "a.jpg"}]})";
  write("fed/epoch-0011.json", R"({"format": 1, "flow": "evaluate", )" + sheets);
  write("other/epoch-0012.json", R"({"format": 1, "flow": "train", )" + sheets);
  EXPECT_THAT(titles(), IsEmpty());
}

TEST_F(DrawnPicturesTest, ASetThatCannotBeReadIsAProblemAndTheOthersStay) {
  write("a/epoch-0012.json", "{");
  write("b/epoch-0012.json", R"({"format": 2, "flow": "evaluate"})");
  write("c/epoch-0012.json",
        R"({"format": 1, "flow": "evaluate", "sheets": [{"file": "../../../secret.jpg"}]})");
  write("d/epoch-0012.json", R"({"format": 1, "flow": "evaluate", "sheets": [{"file": "d.jpg"}]})");
  write("e/epoch-0012.json", R"({"format": 1, "flow": "evaluate", "sheets": [{"file": 7}]})");
  EXPECT_THAT(titles(), ElementsAre("evaluate/d/sheets 1"));
  EXPECT_THAT(drawn_pictures(folder_.path(), "evaluate", 12).problems,
              ElementsAre(HasSubstr("a/epoch-0012.json"), HasSubstr("format 2"),
                          HasSubstr("is not in the run folder"), HasSubstr("e/epoch-0012.json")));
}

}  // namespace seam::host::drawn_pictures_test
