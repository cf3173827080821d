/// Data sets of one run that number their categories differently, with the real program: a number
/// then means different classes, which no score shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <seam/safetensors.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace categories_test {

using ::testing::HasSubstr;

/// Trains on the folders bag, coat and hat, and evaluates on bag, coat and shoe.
class CategoriesTest : public ::testing::Test {
 protected:
  CategoriesTest() {
    for (const char* picture : {"train/bag/a", "train/bag/b", "train/coat/a", "train/coat/b",
                                "train/hat/a", "test/bag/c", "test/coat/c", "test/shoe/c"}) {
      const std::filesystem::path file = folder_.path() / (std::string(picture) + ".ppm");
      std::filesystem::create_directories(file.parent_path());
      folder_.write(std::string(picture) + ".ppm", "P3 2 2 255 9 9 9 200 0 0 0 200 0 0 0 200\n");
    }
    const std::string both = R"(
[stage.train_items]
use = "dataset.folder"
root = "train"
[stage.test_items]
use = "dataset.folder"
root = "test"
[stage.decode]
use = "image.decode"
[stage.resize]
use = "image.resize"
height = 32
width = 32
[stage.batch]
use = "batch"
size = 5
[stage.adam]
use = "train.adam"
)";
    folder_.write("resnet.toml", both + R"(
[stage.model]
use = "model.resnet"
blocks = [1]
width = 4
classes = 3
[stage.loss]
use = "loss.cross_entropy"
[stage.accuracy]
use = "metric.accuracy"
[flow]
train = "train_items -> decode -> resize -> batch -> model -> loss -> adam"
validate = "test_items -> decode -> resize -> batch -> model -> accuracy"
[schedule]
epochs = 1
each_epoch = ["train", "validate"]
)");
    folder_.write("capsules.toml", both + R"(
[stage.model]
use = "model.capsnet"
classes = 3
image_height = 32
image_width = 32
width = 4
primary_capsules = 2
[stage.loss]
use = "loss.margin"
[flow]
train = "train_items -> decode -> resize -> batch -> model -> loss -> adam"
validate = "test_items -> decode -> resize -> batch -> model -> loss"
[schedule]
epochs = 1
each_epoch = ["train", "validate"]
)");
  }

  [[nodiscard]] Finished run(const std::string& file, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"run", file, "--plugin-path", SEAM_SYSTEM_PLUGINS};
    words.insert(words.end(), more.begin(), more.end());
    return seam(words, folder_.path());
  }

  TemporaryFolder folder_;
};

TEST_F(CategoriesTest, AnAccuracyOnOtherClassesIsRefused) {
  const Finished finished = run("resnet.toml", {});
  EXPECT_EQ(finished.exit_code, 2) << finished.out;
  EXPECT_THAT(finished.err, HasSubstr("category 2 is 'hat' in one (of 3 categories) and 'shoe' in "
                                      "another (of 3). Give all of them the same categories"));
}

TEST_F(CategoriesTest, ClassCapsulesOfOtherClassesAreRefusedBeforeTheyAreTrained) {
  const Finished finished = run("capsules.toml", {"--run-dir", "refused"});
  EXPECT_EQ(finished.exit_code, 2) << finished.out;
  EXPECT_THAT(finished.err, HasSubstr("'hat' in one (of 3 categories) and 'shoe' in another"));
  EXPECT_EQ(text_of_file(folder_.path() / "refused/metrics.jsonl"), "");
}

/// Trained on bag, coat and hat; used with bag, coat and shoe.
class ImportedClassesTest : public CategoriesTest {
 protected:
  ImportedClassesTest() {
    const Finished trained =
        run("resnet.toml", {"--set", "stage.test_items.root=train", "--run-dir", "trained"});
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    file_ = folder_.path() / "trained/checkpoints/epoch-1.safetensors";
  }

  /// Continues from the trained weights with these data.
  [[nodiscard]] Finished use(const std::string& weights, const std::string& train,
                             const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"--set", "stage.model.weights=" + weights,
                                   "--set", "stage.train_items.root=" + train,
                                   "--set", "stage.test_items.root=" + train};
    words.insert(words.end(), more.begin(), more.end());
    return run("resnet.toml", words);
  }

  std::filesystem::path file_;
};

TEST_F(ImportedClassesTest, CheckpointsSayWhatTheClassesAreCalled) {
  EXPECT_EQ(read_safetensors(file_).metadata.at("seam.classes"),
            R"({"model":["bag","coat","hat"]})");
}

TEST_F(ImportedClassesTest, OtherNamesAreRefused) {
  const auto refusal = HasSubstr(
      "the weights for stage 'model' in 'trained' were trained on different classes: "
      "class 2 is 'hat' there (3 classes) and 'shoe' in the data of flow 'train' (3 classes). Use "
      "data with the same categories, or exclude the class-dependent weights");
  const Finished finished = use("trained", "test", {"--run-dir", "refused"});
  EXPECT_EQ(finished.exit_code, 2) << finished.out;
  EXPECT_THAT(finished.err, refusal);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "refused/metrics.jsonl"));
  // Also if nothing is trained, but a metric reads categories; and with a file instead of a run.
  const Finished evaluated = use(file_.string(), "test", {"--set", "schedule.each_epoch=validate"});
  EXPECT_EQ(evaluated.exit_code, 2) << evaluated.out;
  EXPECT_THAT(evaluated.err, HasSubstr("'shoe' in the data of flow 'validate' (3 classes)"));
}

TEST_F(ImportedClassesTest, TheSameNamesAreAccepted) {
  EXPECT_EQ(use("trained", "train").exit_code, 0);
}

TEST_F(ImportedClassesTest, SkippingWhatDependsOnTheClassesIsAccepted) {
  const Finished finished = use("trained", "test", {"--set", "stage.model.skip=fc.*"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err,
              HasSubstr("Make sure that 'skip' excludes all class-dependent weights"));
}

TEST_F(ImportedClassesTest, AFileWithoutNamesIsAccepted) {
  Safetensors foreign = read_safetensors(file_);
  foreign.metadata.clear();
  const std::vector<std::byte> bytes = safetensors_bytes(foreign);
  folder_.write("foreign.safetensors",
                std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const Finished finished = use("foreign.safetensors", "test");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST_F(ImportedClassesTest, EmbeddingsOfOtherPicturesAreAccepted) {
  folder_.write("embed.toml", R"(extends = "resnet.toml"
[stage.embeddings]
use = "export.embeddings"
[flow]
embed = "test_items -> decode -> resize -> batch -> model -> embeddings"
[schedule]
each_epoch = ["embed"]
)");
  const Finished finished = run("embed.toml", {"--set", "stage.model.weights=trained"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST_F(CategoriesTest, DataSetsThatAgreeRun) {
  for (const char* file : {"resnet.toml", "capsules.toml"}) {
    const Finished finished = run(file, {"--set", "stage.test_items.root=train"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
  }
}

}  // namespace categories_test
}  // namespace seam::test
