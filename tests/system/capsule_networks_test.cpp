/// The residual capsule network and the classifiers with a decoder on pictures, with the real
/// program and the real stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace {

class CapsuleNetworksTest : public ::testing::Test {
 protected:
  CapsuleNetworksTest() {
    const std::string demo =
        "extends = \"" + std::string(SEAM_SOURCE) + "/pipelines/demo.toml\"\n" + R"(
[stage.train_items]
root = "wardrobe"
items = 28
[stage.triplets]
per_epoch = 48
[stage.triplet_batch]
size = 36
[schedule]
epochs = 1
)";
    folder_.write("retrieval.toml", demo + R"(each_epoch = ["train", "gallery", "evaluate"]
[stage.model]
use = "model.rccapsnet"
preset = "as_published"
width = 4
primary_channels = 64
dropout = 0.3
[stage.adam]
epsilon_form = "keras"
[stage.cosine_loss]
use = "loss.triplet"
form = "cosine"
[flow]
train = "train_items -> triplets -> decode -> resize -> augment -> triplet_batch -> model -> cosine_loss -> adam"
)");
    folder_.write("classifier.toml", demo + R"(each_epoch = ["train", "validate"]
[stage.model]
use = "model.rccapsnet_cls"
classes = 14
preset = "as_published"
width = 4
primary_channels = 32
dropout = 0.3
routing_weights = "own"
image_height = 32
image_width = 32
[stage.decoder]
use = "model.capsule_decoder"
classes = 14
image_height = 32
image_width = 32
dense_channels = 4
channels = [8, 8]
kernels = [9, 5, 4]
strides = [2, 2, 2]
[stage.margin]
use = "loss.margin"
top = [1, 3]
[stage.reconstruction]
use = "loss.reconstruction"
weight = 0.5
[flow]
train = "train_items -> triplets -> decode -> resize -> augment -> triplet_batch -> model -> decoder -> margin -> reconstruction -> adam"
validate = "query_items -> prepare -> model -> decoder -> margin -> reconstruction"
)");
  }

  /// The metrics of a whole run.
  std::string run(const std::string& file, const std::string& directory, int threads,
                  const std::string& precision = "float32") {
    const Finished finished =
        seam({"run", file, "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir", directory,
              "--precision", precision, "--threads", std::to_string(threads)},
             folder_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return text_of_file(folder_.path() / directory / "metrics.jsonl");
  }

  TemporaryFolder folder_;
};

TEST_F(CapsuleNetworksTest, TheResidualNetworkTrainsAndRetrievesTheSameForAnyNumberOfThreads) {
  const std::string one = run("retrieval.toml", "one", 1);
  EXPECT_THAT(one, ::testing::HasSubstr(R"("stage":"cosine_loss","name":"positive_cosine")"));
  EXPECT_THAT(one, ::testing::HasSubstr(R"("stage":"recall")"));
  EXPECT_EQ(run("retrieval.toml", "eight", 8), one);
}

TEST_F(CapsuleNetworksTest, AClassifierTrainsWithItsDecoderTheSameForAnyNumberOfThreads) {
  const std::string one = run("classifier.toml", "one", 1);
  for (const char* metric :
       {R"("stage":"margin","name":"accuracy_3")", R"("stage":"reconstruction","name":"loss")"}) {
    EXPECT_THAT(one, ::testing::HasSubstr(metric));
  }
  EXPECT_EQ(run("classifier.toml", "eight", 8), one);
}

TEST_F(CapsuleNetworksTest, BothRunInBfloat16) {
  EXPECT_THAT(run("retrieval.toml", "retrieval", 2, "bfloat16"), ::testing::HasSubstr("recall"));
  EXPECT_THAT(run("classifier.toml", "classifier", 2, "bfloat16"),
              ::testing::HasSubstr("reconstruction"));
}

}  // namespace
}  // namespace seam::test
