/// pipelines/thesis/fashionnet-small.toml, made smaller, with the real program and the real stages,
/// on a drawn wardrobe with artificial landmarks and attributes.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/system/run_fixture.hpp"

namespace seam::test::fashionnet_test {

using ::testing::HasSubstr;

class FashionNetTest : public RunFixture {
 protected:
  FashionNetTest() : RunFixture("small.toml") {
    folder_.write("draw.toml", R"(
[stage.items]
use = "dataset.wardrobe"
root = "wardrobe"
items = 28
size = 48
limit = 1
[stage.decode]
use = "image.decode"
[flow]
draw = "items -> decode"
)");
    seam({"run", "draw.toml", "--run-dir", "draw"}, here());
    write_lists();
    write_extension("small.toml", "thesis/fashionnet-small.toml", R"(
[stage.train_items]
root = "wardrobe"
[stage.query_items]
root = "wardrobe"
[stage.cross_query_items]
list = "Eval/list_eval_partition.txt"
[stage.pose_triplets]
per_epoch = 64
[stage.resize]
height = 32
width = 32
[stage.triplet_batch]
size = 24
[stage.model]
channels = [4, 6, 8, 8, 8]
image_height = 32
image_width = 32
pose_features = 16
local_features = 16
global_features = 16
fusion_features = 24
attributes = 3
[schedule]
epochs = 2
)");
  }

  /// Full-body clothes whose landmarks are relative to the collar, which depends on the item.
  void write_lists() {
    std::istringstream list(text_of_file(here() / "wardrobe/Eval/list_eval_partition.txt"));
    std::string line;
    std::getline(list, line);
    std::getline(list, line);
    std::ostringstream landmarks;
    std::map<std::string, int> items;
    int images = 0;
    while (std::getline(list, line)) {
      std::istringstream columns(line);
      std::string image;
      std::string item;
      columns >> image >> item;
      if (image.empty()) continue;
      const int top = 8 + items.try_emplace(item, static_cast<int>(items.size())).first->second % 9;
      landmarks << image << " 3 1";
      for (int pair = 0; pair < 4; ++pair) {
        const int y = top + 7 * pair;
        landmarks << " 0 " << 18 - 2 * pair << ' ' << y << ' ' << pair / 3 << ' ' << 30 + 2 * pair
                  << ' ' << y;
      }
      landmarks << '\n';
      ++images;
    }
    ASSERT_GT(images, 50);
    write("Anno/list_landmarks_inshop.txt",
          std::to_string(images) + "\nimage_name clothes_type variation_type\n" + landmarks.str());
    write("Anno/list_attr_cloth.txt", "3\nattribute_name\nodd\nsmall number\nnever\n");
    std::ostringstream labels;
    labels << items.size() << "\nitem_id attribute_labels\n";
    for (const auto& [item, number] : items) {
      labels << item << (number % 2 == 1 ? " 1" : " -1") << (number < 9 ? " 1" : " 0") << " -1\n";
    }
    write("Anno/list_attr_items.txt", labels.str());
  }
  void write(const std::string& file, const std::string& text) const {
    folder_.write("wardrobe/" + file, text);
  }
  /// The mean of a metric's values in one epoch.
  [[nodiscard]] double mean(const std::string& directory, const std::string& stage,
                            const std::string& name, int epoch) const {
    const std::vector<double> values = values_of(metrics(directory), stage, name, epoch);
    EXPECT_FALSE(values.empty()) << stage << " " << name;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
};

TEST_F(FashionNetTest, TheTwoStepsTrainTheSameForAnyNumberOfThreads) {
  const std::string one = completed("one", 1);
  for (const char* step : {"pose", "match"}) {
    for (const char* loss : {"landmark", "visibility", "category", "attributes", "triplet"}) {
      EXPECT_GT(mean("one", std::string(step) + "_" + loss, "loss", 1), 0) << step << loss;
    }
  }
  EXPECT_LT(mean("one", "pose_landmark", "error", 1), mean("one", "pose_landmark", "error", 0));
  EXPECT_LT(mean("one", "pose_visibility", "loss", 1), mean("one", "pose_visibility", "loss", 0));
  EXPECT_GT(mean("one", "recall", "none.r@1", 1), 0);
  EXPECT_EQ(completed("four", 4), one);
}

TEST_F(FashionNetTest, ADataSetWithoutLandmarksIsRefused) {
  std::filesystem::remove(here() / "wardrobe/Anno/list_landmarks_inshop.txt");
  const Finished finished = run("out", 1);
  EXPECT_NE(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("list_landmarks_inshop.txt"));
  EXPECT_THAT(finished.err, HasSubstr("use dataset.inshop for a data set without landmarks"));
}

TEST_F(FashionNetTest, LandmarksOfAnotherReleaseAreRefused) {
  const std::string path = "Anno/list_landmarks_inshop.txt";
  write(path, replaced(text_of_file(here() / "wardrobe" / path), " 0 18 ", " 0 300 "));
  const Finished finished = run("out", 1);
  EXPECT_NE(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("landmark 1 (left collar) is at x 300"));
}

}  // namespace seam::test::fashionnet_test
