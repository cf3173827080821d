/// The pipeline files that train in minutes, each shortened to seconds, with the real program on
/// real images: the stages of each file work together, and it measures the declared metrics.

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test::pipeline_files_test {

namespace fs = std::filesystem;

const fs::path pipelines = fs::path(SEAM_SOURCE) / "pipelines";

/// For all files but a few, without what they have in common: the scores before the first epoch
/// and the floors.
const std::vector<std::string> short_run{"schedule.before=[]", "schedule.floors=[]"};
const std::vector<fs::path> with_floors{"descriptors/type-d.toml", "siamese/att-lenet.toml"};

/// Files that can be shortened in the same way.
struct Family {
  std::string data;                   ///< the folder in SEAM_TEST_DATA that they need
  std::string variable;               ///< variable that names this folder
  std::vector<std::string> settings;  ///< settings that shorten them
  std::vector<std::string> measured;  ///< stages whose metrics must be present
};

const Family descriptors{"deepfashion-inshop",
                         "DEEPFASHION",
                         {"stage.train_items.limit=64", "stage.pairs.per_epoch=1"},
                         {"recall", "cross_recall"}};
const Family larger_batches{"deepfashion-inshop",
                            "DEEPFASHION",
                            {"stage.train_items.limit=260", "stage.pairs.per_epoch=1",
                             "stage.query_items.limit=64", "stage.gallery_items.limit=64"},
                            {"recall", "cross_recall"}};
const Family thesis{
    "deepfashion-inshop",
    "DEEPFASHION",
    {"stage.train_items.list=Eval/small/list_eval_partition.txt", "stage.triplets.per_epoch=32",
     "stage.query_items.limit=64", "stage.gallery_items.limit=64"},
    {"recall", "cross_recall"}};
const Family fashion_mnist{
    "fashion-mnist",
    "FASHION_MNIST",
    {"stage.train_items.split=test", "stage.train_items.limit=64", "stage.test_items.skip=9000"},
    {"margin", "reconstruction", "accuracy"}};
const Family faces{"att_faces",
                   "ATT",
                   {"stage.batch.size=8", "stage.train_pairs.count=4", "stage.test_pairs.count=20"},
                   {"verification"}};
const Family people{"att_faces", "ATT", {}, {"margin", "reconstruction", "accuracy"}};

struct PipelineFile {
  fs::path path;  ///< below pipelines/
  const Family* family;
};

void PrintTo(const PipelineFile& file, std::ostream* out) {
  *out << file.path;
}

std::vector<PipelineFile> files() {
  const auto family_of = [](const fs::path& file) -> const Family* {
    const std::string name = file.stem().string();
    if (file.parent_path() == "descriptors") {
      return name.starts_with("cgd") ? &larger_batches : &descriptors;
    }
    if (file.parent_path() == "thesis/small") {
      if (name.find("-cls-att") != std::string::npos) return &people;
      return name.find("-cls") != std::string::npos ? &fashion_mnist : &thesis;
    }
    if (file.parent_path() == "siamese") {
      if (name.starts_with("att-")) return &faces;
      if (name.starts_with("capsnet")) return &fashion_mnist;
    }
    return nullptr;
  };
  std::vector<PipelineFile> found;
  std::error_code fault;
  for (const char* folder : {"descriptors", "thesis/small", "siamese"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(pipelines / folder, fault)) {
      const fs::path path = fs::relative(entry.path(), pipelines, fault);
      if (const Family* family = family_of(path); family != nullptr) {
        found.push_back({path, family});
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const PipelineFile& a, const PipelineFile& b) { return a.path < b.path; });
  return found;
}

std::string name_of(const ::testing::TestParamInfo<PipelineFile>& info) {
  std::string name = info.param.path.parent_path() / info.param.path.stem();
  std::replace_if(
      name.begin(), name.end(),
      [](char letter) { return std::isalnum(static_cast<unsigned char>(letter)) == 0; }, '_');
  return name;
}

class PipelineFilesTest : public ::testing::TestWithParam<PipelineFile> {};

TEST_P(PipelineFilesTest, TrainsAndMeasures) {
  const Family& family = *GetParam().family;
  const char* const all = std::getenv("SEAM_TEST_DATA");
  const fs::path data = all == nullptr ? fs::path() : fs::path(all) / family.data;
  if (!fs::exists(data)) GTEST_SKIP() << "no " << family.data << " in SEAM_TEST_DATA";
  const TemporaryFolder folder;
  std::vector<std::string> arguments{
      "run", pipelines / GetParam().path, "--run-dir", "run", "--threads", "2"};
  const auto set = [&arguments](const std::string& setting) {
    arguments.insert(arguments.end(), {"--set", setting});
  };
  set("schedule.epochs=1");
  std::for_each(family.settings.begin(), family.settings.end(), set);
  const bool floors =
      std::find(with_floors.begin(), with_floors.end(), GetParam().path) != with_floors.end();
  if (!floors) std::for_each(short_run.begin(), short_run.end(), set);
  const Finished finished = seam(arguments, folder.path(), {{family.variable, data.string()}});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::string metrics = text_of_file(folder.path() / "run/metrics.jsonl");
  for (const std::string& stage : family.measured) {
    EXPECT_THAT(metrics, HasSubstr(R"("stage":")" + stage + '"'));
  }
  EXPECT_THAT(metrics, HasSubstr(R"("name":"loss")"));
  EXPECT_EQ(metrics.find(R"("stage":"pixels")") != std::string::npos, floors);
}

INSTANTIATE_TEST_SUITE_P(Files, PipelineFilesTest, ::testing::ValuesIn(files()), name_of);

}  // namespace seam::test::pipeline_files_test
