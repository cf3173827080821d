/// `seam check --deep`: errors that only appear when stages are opened and process a batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace deep_check_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Two classes of eight images, on which a small network is trained and evaluated.
class DeepCheckTest : public ::testing::Test {
 protected:
  DeepCheckTest() {
    fs::create_directories(scratch());
    for (const std::string name : {"fan", "mug"}) {
      for (int at = 0; at < 8; ++at) {
        folder_.write("data/" + name + "/" + std::to_string(at) + ".ppm",
                      "P3 2 1 255 9 9 " + std::to_string(at) + " 9 200 0\n");
      }
    }
    folder_.write("file.toml", R"(
[stage.items]
use = "dataset.folder"
root = "data"
[stage.served]
like = "items"
[stage.draw]
use = "sampling.pk"
items = 2
images = 2
per_epoch = 3
[stage.decode]
use = "image.decode"
[stage.resize]
use = "image.resize"
height = 32
width = 32
[stage.drawn]
use = "batch"
size = 4
[stage.batch]
use = "batch"
size = 3
[stage.model]
use = "model.resnet"
blocks = [1]
width = 4
[stage.loss]
use = "loss.batch_hard"
[stage.adam]
use = "train.adam"
[stage.gallery]
use = "retrieval.index"
[stage.search]
use = "retrieval.search"
index = "gallery"
exclude_self = true
[stage.recall]
use = "retrieval.recall"
k = [1]
[stage.vectors]
use = "export.embeddings"
[flow]
train = "items -> draw -> decode -> resize -> drawn -> model -> loss -> adam"
gallery = "served -> decode -> resize -> batch -> model -> {gallery, vectors}"
evaluate = "served -> decode -> resize -> batch -> model -> search -> recall"
[schedule]
epochs = 3
)");
  }

  [[nodiscard]] fs::path scratch() const { return folder_.path() / "scratch"; }
  Finished with(std::vector<std::string> arguments, const std::vector<std::string>& set) {
    for (const std::string& one : set) {
      arguments.emplace_back("--set");
      arguments.push_back(one);
    }
    return seam(arguments, folder_.path(), {{"TMPDIR", scratch().string()}});
  }
  /// Checks and runs the file: both must end with the same code, and the check leaves no files.
  Finished refused(const std::vector<std::string>& set, int code) {
    EXPECT_EQ(with({"check", "file.toml"}, set).exit_code, 0) << "nothing shows before";
    const std::vector<fs::path> before = files();
    Finished checked = with({"check", "--deep", "file.toml"}, set);
    EXPECT_EQ(checked.exit_code, code) << checked.err;
    EXPECT_EQ(files(), before);
    const Finished run = with({"run", "file.toml", "--run-dir", "of_run"}, set);
    EXPECT_EQ(run.exit_code, code) << run.err;
    return checked;
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TemporaryFolder folder_;
};

TEST_F(DeepCheckTest, EachFlowGetsOneBatchAndNothingIsLeft) {
  const std::vector<fs::path> before = files();
  const Finished checked = with({"check", "--deep", "file.toml"}, {});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, AllOf(HasSubstr("file.toml: one batch through each of 3 flows in "),
                                 HasSubstr(" packets prepared, at most ")));
  EXPECT_EQ(files(), before);
}

TEST_F(DeepCheckTest, WeightsOfOtherShapesAreFound) {
  ASSERT_EQ(with({"run", "file.toml", "--run-dir", "old"}, {}).exit_code, 0);
  const Finished checked = refused({"stage.model.weights=old", "stage.model.width=8"}, 2);
  EXPECT_THAT(checked.err, HasSubstr("in stage 'model' (model.resnet)"));
}

TEST_F(DeepCheckTest, ATruncatedPictureOfTheFirstBatchIsFound) {
  folder_.write("data/fan/0.ppm", "P6 200 100 255 ");
  const Finished checked = refused({}, 3);
  EXPECT_THAT(checked.err,
              AllOf(HasSubstr("in stage 'decode' (image.decode)"), HasSubstr("fan/0.ppm")));
}

TEST_F(DeepCheckTest, PacketsThatMaySkipAreCounted) {
  folder_.write("data/fan/0.ppm", "P6 200 100 255 ");
  const Finished checked = with({"check", "--deep", "file.toml"},
                                {"stage.decode.on_error=skip", "flow.train=items -> decode"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("; on_error = \"skip\" skipped "));
}

TEST_F(DeepCheckTest, ALossThatRefusesItsFirstBatchIsFound) {
  const Finished checked = refused({"stage.loss.negatives=same_category"}, 3);
  EXPECT_THAT(checked.err, AllOf(HasSubstr("no image of this batch has a positive and a negative"),
                                 HasSubstr("in stage 'loss' (loss.batch_hard)"),
                                 HasSubstr("running flow 'train'")));
}

TEST_F(DeepCheckTest, AFolderWithoutPicturesIsFound) {
  fs::create_directories(folder_.path() / "none");
  const Finished checked = refused({"stage.items.root=none"}, 3);
  EXPECT_THAT(checked.err, HasSubstr("in stage 'items' (dataset.folder)"));
}

TEST_F(DeepCheckTest, DataThatIsMissingIsNamed) {
  const Finished checked = refused({"stage.items.root=nowhere"}, 3);
  EXPECT_THAT(checked.err,
              AllOf(HasSubstr("--deep cannot open the stages, because data is missing"),
                    HasSubstr("nowhere")));
}

TEST_F(DeepCheckTest, FilesOutsideTheRunAreNotWritten) {
  const Finished checked = with({"check", "--deep", "file.toml"},
                                {"stage.vectors.folder=" + (folder_.path() / "mine").string()});
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.err, AllOf(HasSubstr("stage 'vectors' (export.embeddings)"),
                                 HasSubstr("--set stage.vectors.folder=")));
  EXPECT_FALSE(fs::exists(folder_.path() / "mine"));
}

TEST_F(DeepCheckTest, EachPictureIsPreparedAndThoseThatCannotBeAreNamed) {
  const std::vector<fs::path> before = files();
  const Finished fine = with({"check", "--data", "file.toml"}, {"schedule.epochs=3"});
  EXPECT_EQ(fine.exit_code, 0) << fine.err;
  EXPECT_THAT(fine.out, AllOf(HasSubstr("file.toml: 32 packets prepared in "),
                              HasSubstr(": all can be used")));
  EXPECT_EQ(files(), before);

  folder_.write("data/mug/3.ppm", "P3 2 1 255 9\n");
  const Finished found = with({"check", "--data", "file.toml"}, {});
  EXPECT_EQ(found.exit_code, 3);
  EXPECT_THAT(found.err, AllOf(HasSubstr("mug/3.ppm"), HasSubstr("(in decode)")));
  EXPECT_THAT(found.out, HasSubstr(": 1 problem\n")) << "of two lists that have the same picture";
  EXPECT_EQ(with({"check", "--data", "--deep", "file.toml"}, {}).exit_code, 2);
}

}  // namespace deep_check_test
}  // namespace seam::test
