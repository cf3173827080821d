/// `seam inspect` with networks: the parts of stages with defaults, with parameters, in pipelines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace inspect_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* demo = SEAM_SOURCE "/pipelines/demo.toml";

class InspectTest : public ::testing::Test {
 protected:
  Finished inspect(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "inspect");
    return seam(arguments, folder_.path(), {{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}});
  }

  TemporaryFolder folder_;
};

TEST_F(InspectTest, TellsWhatANetworkConsistsOf) {
  const Finished resnet = inspect({"model.resnet"});
  EXPECT_EQ(resnet.exit_code, 0) << resnet.err;
  EXPECT_THAT(
      resnet.out,
      AllOf(ContainsRegex("network +ResidualNetwork +11,186,132\n"),
            ContainsRegex("\n    conv1 +Conv2d +9,408  weight \\[64,3,7,7\\]\n"),
            ContainsRegex("\n    layer1 +Sequential +148,484\n"),
            ContainsRegex("bn1 +BatchNorm2d +257  weight \\[64\\], bias \\[64\\], running_mean"),
            HasSubstr("11,186,132 numbers: 11,176,512 trained, 0 frozen, 9,620 in buffers\n")));
  const Finished capsules = inspect({"model.sccapsnet"});
  EXPECT_EQ(capsules.exit_code, 0) << capsules.err;
  EXPECT_THAT(capsules.out, AllOf(HasSubstr("w [16,368]"), HasSubstr("2,425,024 trained")));
  EXPECT_THAT(capsules.err, IsEmpty());
}

TEST_F(InspectTest, ParametersMakeAnotherNetwork) {
  const Finished small = inspect({"model.sccapsnet", "--set", "width=8", "--set",
                                  "primary_channels=64", "--set", "freeze=f.0.*"});
  EXPECT_EQ(small.exit_code, 0) << small.err;
  // 8 filters of 3 * 49 weights, their biases, scales and shifts are frozen.
  EXPECT_THAT(small.out, AllOf(ContainsRegex("width +8  "), HasSubstr("[\"f.0.*\"]"),
                               HasSubstr("23 (default)"), HasSubstr("weight [8,3,7,7] frozen"),
                               HasSubstr(" 1,200 frozen, ")));
  const Finished refused = inspect({"model.sccapsnet", "--set", "widht=8"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("did you mean 'width'"));
}

TEST_F(InspectTest, AStageOfAPipelineIsAsTheFileHasIt) {
  const Finished model = inspect({demo, "model"});
  EXPECT_EQ(model.exit_code, 0) << model.err;
  EXPECT_THAT(model.out,
              AllOf(StartsWith("stage 'model', model.sccapsnet: "), ContainsRegex("classes +14  "),
                    HasSubstr("16 (default)"), HasSubstr("weight [32,3,7,7], bias [32]\n")));
  const Finished json = inspect({demo, "model", "--set", "stage.model.freeze=[\"*\"]", "--json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json.out,
              AllOf(HasSubstr("\"name\":\"model\""), HasSubstr("\"trained\":0,\"frozen\":"),
                    HasSubstr("\"value\":14,\"set\":true"),
                    HasSubstr("\"shape\":[32,3,7,7],\"use\":\"frozen\"")));
  const Finished search = inspect({demo, "search"});
  EXPECT_EQ(search.exit_code, 0) << search.err;
  EXPECT_THAT(search.out, AllOf(ContainsRegex("index +\"gallery\""), Not(HasSubstr("network"))));
}

TEST_F(InspectTest, ARunsFolderIsAPipelineToo) {
  folder_.write("small.toml",
                "[stage.numbers]\nuse = \"test.count\"\nn = 3\n[stage.total]\nuse = "
                "\"test.total\"\n[flow]\nmain = \"numbers -> total\"\n");
  const std::map<std::string, std::string> plugins{{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}};
  ASSERT_EQ(seam({"run", "small.toml", "--run-dir", "out"}, folder_.path(), plugins).exit_code, 0);
  const Finished numbers = inspect({"out", "numbers"});
  EXPECT_EQ(numbers.exit_code, 0) << numbers.err;
  EXPECT_THAT(numbers.out, ContainsRegex("  n +3  "));
  EXPECT_EQ(inspect({"out", "numbers", "--set", "stage.numbers.n=4"}).exit_code, 2);
}

TEST_F(InspectTest, ANetworkThatCannotBeMadeIsAnError) {
  const Finished missing = inspect({"model.resnet", "--set", "weights=nowhere.safetensors"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("nowhere.safetensors"), HasSubstr("resnet")));
  EXPECT_THAT(missing.out, Not(HasSubstr("network:")));
}

TEST_F(InspectTest, WithoutARequiredParameterThereIsNoNetwork) {
  const Finished script = inspect({"model.torchscript"});
  EXPECT_EQ(script.exit_code, 0) << script.err;
  EXPECT_THAT(script.out, HasSubstr("network: not shown, because the stage requires file;"));
  EXPECT_THAT(inspect({"model.torchscript", "--json"}).out, HasSubstr("\"network\":null"));
  const Finished other = inspect({"model.torchscript", "--set", "output=0"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("needs 'file'"));
}

TEST_F(InspectTest, AFieldHasStagesThatProvideAndNeedIt) {
  const Finished field = inspect({"embedding"});
  EXPECT_EQ(field.exit_code, 0) << field.err;
  EXPECT_THAT(field.out, AllOf(StartsWith("field 'embedding'"),
                               ContainsRegex("provided by\n(.*\n)*  model\\.resnet "),
                               ContainsRegex("  model.resnet +f32\\[N,[0-9E]+\\]"),
                               ContainsRegex("needed by\n(.*\n)*  retrieval.index ")));
  const Finished json = inspect({"embedding", "--json"});
  EXPECT_THAT(json.out,
              AllOf(StartsWith("{\"field\":\"embedding\""), HasSubstr("\"loss.triplet\"")));
  EXPECT_EQ(inspect({"embedding", "--markdown"}).exit_code, 2);
  EXPECT_EQ(inspect({"embedding", "--set", "k=3"}).exit_code, 2);
  const Finished unknown = inspect({"embeding"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no plugin provides stage 'embeding'"),
                                 HasSubstr("did you mean 'embedding'")));
}

TEST_F(InspectTest, WhatItDoesNotFindItNames) {
  const Finished unknown = inspect({demo, "modle"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("has no stage 'modle'"),
                                 HasSubstr("did you mean 'model'"), HasSubstr("pair_batch")));
  const Finished file = inspect({demo});
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_THAT(file.err, HasSubstr("seam inspect FILE STAGE"));
  EXPECT_EQ(inspect({"nowhere.toml", "model"}).exit_code, 2);
  EXPECT_EQ(inspect({demo, "model", "--markdown"}).exit_code, 2);
  EXPECT_EQ(inspect({demo, "model", "third"}).exit_code, 2);
}

}  // namespace inspect_test
}  // namespace seam::test
