/// The residual capsule network and the classifiers with a decoder, with the real program and the
/// real stages on images.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/system/run_fixture.hpp"

namespace seam::test::capsule_networks_test {

class CapsuleNetworksTest : public RunFixture {
 protected:
  CapsuleNetworksTest() : RunFixture("retrieval.toml") {
    const std::string demo = R"(
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
    write_extension("retrieval.toml", "demo-triplets.toml",
                    demo + R"(each_epoch = ["train", "gallery", "evaluate"]
[stage.model]
use = "model.rccapsnet"
preset = "as_published"
classes = 14
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
    write_extension("classifier.toml", "demo-triplets.toml",
                    demo + R"(each_epoch = ["train", "validate"]
[stage.model]
use = "model.rccapsnet_cls"
classes = 14
preset = "as_published"
width = 4
primary_channels = 32
dropout = 0.3
routing_weights = "own"
[stage.decoder]
use = "model.capsule_decoder"
classes = 14
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

  /// The metrics of a complete run.
  std::string run(const std::string& file, const std::string& directory, int threads,
                  const std::string& precision = "float32") {
    file_ = file;
    return completed(directory, threads, {"--precision", precision});
  }
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

/// The wardrobe's images in lists of DeepFashion's Category and Attribute layout: one third is for
/// validation, one third for the test.
void write_category_lists(const TemporaryFolder& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> pictures;
  const fs::path root = folder.path() / "wardrobe";
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / "img")) {
    if (entry.is_regular_file()) pictures.push_back(fs::relative(entry.path(), root));
  }
  std::sort(pictures.begin(), pictures.end());
  pictures.resize(36);
  std::string categories = "36\nimage_name  category_label\n";
  std::string boxes = "36\nimage_name  x_1  y_1  x_2  y_2\n";
  std::string partition = "36\nimage_name  evaluation_status\n";
  const std::vector<std::string> splits{"train", "val", "test"};
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    categories += pictures[i] + "  " + std::to_string(i / 3 % 4 + 1) + "\n";
    boxes += pictures[i] + "  1 1 9 9\n";
    partition += pictures[i] + "  " + splits[i % 3] + "\n";
  }
  folder.write("wardrobe/Anno_coarse/list_category_cloth.txt",
               "4\ncategory_name  category_type\nCoat  1\nHat  1\nJeans  2\nDress  3\n");
  folder.write("wardrobe/Anno_coarse/list_category_img.txt", categories);
  folder.write("wardrobe/Anno_coarse/list_bbox.txt", boxes);
  folder.write("wardrobe/Eval/list_category_partition.txt", partition);
}

TEST_F(CapsuleNetworksTest, TheThesisClassifiersTrainValidateAndMeasureTheTestAtTheEnd) {
  run("retrieval.toml", "wardrobe_run", 2);
  write_category_lists(folder_);
  for (const std::string network : {"sccapsnet-cls", "rccapsnet-cls"}) {
    write_extension("category.toml", "thesis/" + network + ".toml", R"(
[stage.train_items]
root = "wardrobe"
partition = "Eval/list_category_partition.txt"
expect_train = 12
expect_val = 12
expect_test = 12
expect_categories = 4
[stage.train_batch]
size = 6
[stage.model]
width = 4
primary_channels = 32
classes = 4
[stage.decoder]
classes = 4
dense_channels = 4
channels = [4, 4, 4, 4]
[stage.accuracy]
k = [1, 3]
[schedule]
epochs = 1
)");
    const std::string metrics = run("category.toml", network, 2);
    for (const char* metric : {R"("stage":"accuracy","name":"accuracy@1")",
                               R"("stage":"test_accuracy","name":"accuracy@1")"}) {
      EXPECT_THAT(metrics, ::testing::HasSubstr(metric)) << network;
    }
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / network / "pictures/drawn")) << network;
  }
}

TEST_F(CapsuleNetworksTest, InBfloat16BothAreNearTheirFloat32Runs) {
  struct Loss {
    const char* file;
    const char* stage;
  };
  for (const auto& [file, stage] :
       {Loss{"retrieval.toml", "cosine_loss"}, Loss{"classifier.toml", "margin"},
        Loss{"classifier.toml", "reconstruction"}}) {
    const std::string name = std::string(file) + stage;
    const auto exact = values_of(run(file, name + ".f32", 2), stage, "loss");
    const auto rounded = values_of(run(file, name + ".bf16", 2, "bfloat16"), stage, "loss");
    ASSERT_FALSE(exact.empty()) << name;
    ASSERT_EQ(exact.size(), rounded.size()) << name;
    EXPECT_NE(exact, rounded) << name << ": bfloat16 was not used";
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(rounded[i], exact[i], 0.05 * std::abs(exact[i])) << name << ", step " << i;
    }
  }
}

}  // namespace seam::test::capsule_networks_test
