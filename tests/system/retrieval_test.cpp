/// Retrieval with the real program on artificial data in the layout of Stanford Online Products:
/// one list is both queries and gallery, and K is larger than the list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace retrieval_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Images of one colour each; without blue, its direction is an angle:
///
///     class 3 at 0° and 11°, class 4 at 27° and 90°: the nearest of 27° is of class 3
class LeaveOneOutTest : public ::testing::Test {
 protected:
  LeaveOneOutTest() {
    const auto picture = [this](const std::string& name, const std::string& colour) {
      folder_.write("data/" + name, "P3 1 1 255 " + colour + "\n");
    };
    picture("fan_final/1_0.ppm", "9 9 9");
    picture("fan_final/2_0.ppm", "9 0 9");
    picture("mug_final/3_0.ppm", "255 0 0");
    picture("mug_final/3_1.ppm", "250 50 0");
    picture("fan_final/4_0.ppm", "200 100 0");
    picture("fan_final/4_1.ppm", "0 255 0");
    const std::string head = "image_id class_id super_class_id path\n";
    folder_.write("data/Ebay_train.txt",
                  head + "1 1 1 fan_final/1_0.ppm\n2 2 1 fan_final/2_0.ppm\n");
    folder_.write("data/Ebay_test.txt", head +
                                            "3 3 2 mug_final/3_0.ppm\n4 3 2 mug_final/3_1.ppm\n"
                                            "5 4 1 fan_final/4_0.ppm\n6 4 1 fan_final/4_1.ppm\n");
    folder_.write("evaluate.toml", R"(
[stage.items]
use = "dataset.sop"
root = "data"
split = "test"
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
size = 3
[stage.embedding]
use = "baseline.pixels"
centred = false
[stage.gallery]
use = "retrieval.index"
metric = "cosine"
[stage.search]
use = "retrieval.search"
index = "gallery"
exclude_self = true
k = 1000
[stage.recall]
use = "retrieval.recall"
k = [1, 10, 100, 1000]
protocol = "sop"
[path]
embed = "items -> decode -> batch -> embedding"
[flow]
gallery = "embed -> gallery"
evaluate = "embed -> search -> recall"
)");
  }

  /// Returns the output of a program that must succeed.
  [[nodiscard]] std::string run(const std::string& file) const {
    const Finished finished = seam({"run", file, "--run-dir", "run-" + file}, folder_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return finished.out + finished.err;
  }

  TemporaryFolder folder_;
};

TEST_F(LeaveOneOutTest, OneListIsQueriesAndGallery) {
  EXPECT_THAT(
      run("evaluate.toml"),
      AllOf(
          HasSubstr("4 queries of 2 items in a gallery of 4 images of 2 items; 0 lone queries"),
          HasSubstr("none             no              75.00 "),
          HasSubstr("fan       1      2         50.00  100.00"),
          HasSubstr("none  sop/input=1x1/images=4-in-4/full-gallery/cosine/ties=id/self=excluded/"),
          HasSubstr("Not comparable with published numbers: the train list has 2 images of 2 "
                    "classes instead of the published 59,551 images of 11,318 classes")));
}

TEST_F(LeaveOneOutTest, ExpandedQueriesAndReRankedNeighboursAreAnotherProtocol) {
  folder_.write("more.toml", R"(
extends = "evaluate.toml"
[stage.expansion]
use = "retrieval.query_expansion"
index = "gallery"
exclude_self = true
neighbours = 1
[stage.rerank]
use = "retrieval.rerank"
index = "gallery"
k1 = 2
k2 = 2
[flow]
evaluate = "embed -> expansion -> search -> rerank -> recall"
)");
  EXPECT_THAT(run("more.toml"),
              HasSubstr("/search=exact/expand=average(1)/rerank=k-reciprocal(2,2,0.3)-of-1000/"));

  folder_.write("wrong.toml", R"(
extends = "more.toml"
[stage.expansion]
exclude_self = false
)");
  const Finished finished = seam({"run", "wrong.toml", "--run-dir", "wrong"}, folder_.path());
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("`exclude_self` must be the same"));
}

/// Two lists of the same images in the In-Shop layout: a query of the second is in the gallery of
/// the first.
class TwoListsTest : public ::testing::Test {
 protected:
  TwoListsTest() {
    const auto list = [](const std::string& first, const std::string& second) {
      const auto row = [](const std::string& item, const std::string& file,
                          const std::string& status) {
        return "img/MEN/Denim/" + item + "/" + file + " " + item + " " + status + "\n";
      };
      return "6\nimage_name item_id evaluation_status\n" + row("id_1", "1.ppm", "train") +
             row("id_1", "2.ppm", "train") + row("id_2", "1.ppm", first) +
             row("id_2", "2.ppm", second) + row("id_3", "1.ppm", first) +
             row("id_3", "2.ppm", second);
    };
    folder_.write("data/Eval/list_eval_partition.txt", list("query", "gallery"));
    folder_.write("data/Eval/other.txt", list("gallery", "query"));
    int red = 0;
    for (const char* item : {"id_1", "id_2", "id_3"}) {
      for (const char* file : {"1", "2"}) {
        red += 30;
        folder_.write(std::string("data/img/MEN/Denim/") + item + "/" + file + ".ppm",
                      "P3 1 1 255 " + std::to_string(red) + " 99 9\n");
      }
    }
    folder_.write("evaluate.toml", R"(
[stage.train_items]
use = "dataset.inshop"
root = "data"
[stage.query_items]
like = "train_items"
split = "query"
[stage.gallery_items]
like = "train_items"
split = "gallery"
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
[stage.embedding]
use = "baseline.pixels"
centred = false
[stage.gallery]
use = "retrieval.index"
[stage.search]
use = "retrieval.search"
index = "gallery"
[stage.recall]
use = "retrieval.recall"
protocol = "inshop"
trained_on = "train_items"
[path]
embed = "decode -> batch -> embedding"
[flow]
gallery = "gallery_items -> embed -> gallery"
evaluate = "query_items -> embed -> search -> recall"
)");
  }

  [[nodiscard]] Finished run_with(const std::string& changes) const {
    folder_.write("changed.toml", "extends = \"evaluate.toml\"\n" + changes);
    return seam({"run", "changed.toml"}, folder_.path());
  }

  TemporaryFolder folder_;
};

TEST_F(TwoListsTest, OfOneListTheReportNamesItAndWhatItIsNot) {
  const Finished finished = run_with("");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out + finished.err,
              AllOf(HasSubstr("Lists that were read: queries 'data/Eval/list_eval_partition.txt', "
                              "gallery 'data/Eval/list_eval_partition.txt'."),
                    HasSubstr("Not comparable with published numbers: the train split has 2 images "
                              "of 1 item instead of the official 25,882 of 3,997")));
}

TEST_F(TwoListsTest, AListThatWasEditedIsAnotherList) {
  const auto measure = [this](const std::string& directory) {
    const Finished run = seam({"run", "evaluate.toml", "--run-dir", directory}, folder_.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
  };
  measure("before");
  folder_.write("data/Eval/list_eval_partition.txt",
                text_of_file(folder_.path() / "data/Eval/other.txt"));
  measure("after");
  measure("again");
  const Finished same = seam({"compare", "after", "again"}, folder_.path());
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, Not(HasSubstr("ranked separately")));
  const Finished apart = seam({"compare", "before", "after"}, folder_.path());
  EXPECT_EQ(apart.exit_code, 0) << apart.err;
  EXPECT_THAT(apart.out, AllOf(HasSubstr("they are ranked separately"),
                               HasSubstr("stage.query_items.list (content): ")));
  EXPECT_EQ(seam({"run", "--resume", "before"}, folder_.path()).exit_code, 0)
      << "nothing is left to do";
}

TEST_F(TwoListsTest, ARunDoesNotGoOnOverAnEditedList) {
  const auto picture = folder_.path() / "data/img/MEN/Denim/id_3/2.ppm";
  const std::string pixels = text_of_file(picture);
  std::filesystem::remove(picture);
  EXPECT_EQ(seam({"run", "evaluate.toml", "--run-dir", "out"}, folder_.path()).exit_code, 3);
  folder_.write("data/img/MEN/Denim/id_3/2.ppm", pixels);
  folder_.write("data/Eval/list_eval_partition.txt",
                text_of_file(folder_.path() / "data/Eval/other.txt"));
  const Finished resumed = seam({"run", "--resume", "out"}, folder_.path());
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.err,
              HasSubstr("the content of stage.gallery_items.list, stage.query_items.list has "
                        "changed since the run was started"));
}

TEST_F(TwoListsTest, AQueryThatTheOtherListHasInItsGalleryIsRefused) {
  const Finished finished = run_with("[stage.gallery_items]\nlist = \"Eval/other.txt\"\n");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("query data/Eval/list_eval_partition.txt:5 "
                                            "(img/MEN/Denim/id_2/1.ppm) is in the gallery, as "
                                            "data/Eval/other.txt:5"),
                                  HasSubstr("and finds itself, which counts as a hit")));
}

TEST_F(TwoListsTest, QueriesThatASamplerServesTwiceAreRefused) {
  const Finished finished = run_with(R"(
[stage.pk]
use = "sampling.pk"
items = 2
images = 2
[flow]
evaluate = "query_items -> pk -> embed -> search -> recall"
)");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("occurs twice in one evaluation"));
}

TEST_F(TwoListsTest, QueriesOfTheTrainingAreRefused) {
  folder_.write("data/Eval/overlapping.txt",
                "1\nimage_name item_id evaluation_status\n"
                "img/MEN/Denim/id_3/2.ppm id_3 train\n");
  const Finished finished = run_with(
      "[stage.train_items]\nlist = \"Eval/overlapping.txt\"\n"
      "[stage.query_items]\nlist = \"Eval/list_eval_partition.txt\"\n"
      "[stage.gallery_items]\nlist = \"Eval/list_eval_partition.txt\"\n");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("(img/MEN/Denim/id_3/1.ppm) shows 'id_3', which "
                                      "`trained_on` serves to training"));
}

}  // namespace retrieval_test
}  // namespace seam::test
