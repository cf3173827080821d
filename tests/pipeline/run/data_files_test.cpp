#include "pipeline/run/data_files.hpp"

#include <memory>

#include "pipeline/run/checksum.hpp"
#include "seam/stage.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::data_files_test {

using ::testing::Pair;

class Items final : public Source {
 public:
  void declare(Declaration& d) override {
    d.parameter("root", root_, "");
    d.parameter("list", list_, "").must_exist("root");
    d.parameter("weights", weights_, "").initial();
  }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }

 private:
  std::filesystem::path root_;
  std::filesystem::path list_ = "list.txt";
  std::filesystem::path weights_;
};

class Writes final : public Sink {
 public:
  void declare(Declaration& d) override {
    d.parameter("file", file_, "");
    d.parameter("model", model_, "").must_exist();
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}

 private:
  std::filesystem::path file_;
  std::filesystem::path model_;
};

class DataFilesTest : public ::testing::Test {
 protected:
  DataFilesTest() {
    for (const char* name : {"items", "unused"}) {
      pipeline_.stages[name] =
          std::make_unique<StageRunner>(name, "test.items", std::make_unique<Items>());
      StageSpec stage;
      stage.name = name;
      stage.values["root"] = folder_.path().string();
      pipeline_.spec.stages.push_back(stage);
    }
    FlowSpec flow;
    flow.name = "main";
    flow.nodes.push_back({"items", {}, {}});
    pipeline_.spec.flows.push_back(flow);
    pipeline_.spec.schedule.each_epoch = {{"main", 1}};
  }
  StageSpec& add_writer() {
    pipeline_.stages["writes"] =
        std::make_unique<StageRunner>("writes", "test.writes", std::make_unique<Writes>());
    StageSpec& stage = pipeline_.spec.stages.emplace_back();
    stage.name = "writes";
    return stage;
  }

  seam::test::TemporaryFolder folder_;
  CheckedPipeline pipeline_;
};

TEST_F(DataFilesTest, AreThoseOfScheduledStagesByContent) {
  folder_.write("list.txt", "a");
  EXPECT_THAT(data_files(pipeline_), ElementsAre(Pair("stage.items.list", sha256("a"))))
      << "the default, relative to root";
  folder_.write("other.txt", "b");
  pipeline_.spec.stages[0].values["list"] = (folder_.path() / "other.txt").string();
  EXPECT_THAT(data_files(pipeline_), ElementsAre(Pair("stage.items.list", sha256("b"))));
  pipeline_.spec.stages[0].values["weights"] = folder_.write("weights", "w").string();
  pipeline_.spec.stages[0].values["list"] = std::string();
  EXPECT_THAT(data_files(pipeline_), IsEmpty()) << "neither folders nor what a run begins with";
}

TEST_F(DataFilesTest, OfOtherStagesAreThoseThatMustExist) {
  pipeline_.spec.stages[0].values["list"] = std::string();
  StageSpec& stage = add_writer();
  stage.values["file"] = folder_.write("out.csv", "of an earlier run").string();
  stage.values["model"] = folder_.write("net.pt", "net").string();
  pipeline_.spec.flows[0].nodes.push_back({"writes", {0}, {}});
  EXPECT_THAT(data_files(pipeline_), ElementsAre(Pair("stage.writes.model", sha256("net"))));
}

TEST_F(DataFilesTest, AbsolutePathsAndThoseThatClimbAreElsewhere) {
  pipeline_.spec.stages.clear();
  StageSpec& stage = add_writer();
  pipeline_.spec.flows[0].nodes = {{"writes", {}, {}}};
  for (const char* path : {"", ".", "vectors", "a/../b", "a/..", "..a"}) {
    stage.values["file"] = std::string(path);
    EXPECT_TRUE(written_elsewhere(pipeline_).empty()) << path;
  }
  for (const char* path : {"/vectors", "..", "../vectors", "a/../../vectors"}) {
    stage.values["file"] = std::string(path);
    ASSERT_EQ(written_elsewhere(pipeline_).size(), 1U) << path;
    EXPECT_EQ(written_elsewhere(pipeline_)[0].key, "stage.writes.file");
  }
  pipeline_.spec.flows[0].nodes.clear();
  EXPECT_TRUE(written_elsewhere(pipeline_).empty()) << "of a stage that is not opened";
}

}  // namespace seam::host::data_files_test
