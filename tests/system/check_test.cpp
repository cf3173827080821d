/// Output of `seam check` for pipelines that cannot work: missing files, batches that a loss cannot
/// use, classes that the data does not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace check_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The demo on a smaller wardrobe, one short epoch.
class CheckTest : public ::testing::Test {
 protected:
  Finished demo(const std::string& verb, const std::vector<std::string>& set,
                const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{verb,
                                       std::string(SEAM_SOURCE) + "/pipelines/demo-triplets.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::vector<std::string> all{"schedule.epochs=1", "stage.triplets.per_epoch=48",
                                 "stage.train_items.items=56"};
    all.insert(all.end(), set.begin(), set.end());
    for (const std::string& one : all) {
      arguments.emplace_back("--set");
      arguments.push_back(one);
    }
    return seam(arguments, folder_.path());
  }
  /// With batches of items, in which images have no roles.
  static std::vector<std::string> pk(std::vector<std::string> more = {}) {
    std::vector<std::string> set{
        "stage.triplets={ use = \"sampling.pk\", items = 4, images = 3, "
        "per_epoch = 4 }",
        "stage.triplet_batch={ use = \"batch\", size = 12 }"};
    set.insert(set.end(), more.begin(), more.end());
    return set;
  }

  TemporaryFolder folder_;
};

TEST_F(CheckTest, EveryLossFitsEveryModelOfTheVariants) {
  const Finished checked =
      seam({"check", std::string(SEAM_SOURCE) + "/pipelines/inshop-variants.toml"}, folder_.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("12 combinations of variants"));
  EXPECT_THAT(checked.err, Not(HasSubstr("with --variant"))) << "a warning of a variant alone";
}

TEST_F(CheckTest, WhatTellsTwinsApartIsInTheFile) {
  const std::string file =
      std::string(SEAM_SOURCE) + "/pipelines/inshop-parts/convolutions-hard.toml";
  const Finished checked = seam({"check", file}, folder_.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("; twin of capsules-hard.toml but for stage.convolutions, "));

  folder_.write("one.toml", "extends = \"" + file + "\"\n");
  folder_.write("two.toml", R"(
extends = "one.toml"
[pipeline]
twin = "one.toml"
precision = "bfloat16"
)");
  const Finished apart = seam({"check", "two.toml"}, folder_.path());
  EXPECT_EQ(apart.exit_code, 2);
  EXPECT_THAT(apart.err, HasSubstr("it also differs from its twin 'one.toml' in "
                                   "pipeline.precision: \"bfloat16\" here, "
                                   "\"float32\" there [twin]"));
  const Finished on_purpose =
      seam({"check", "two.toml", "--set", "schedule.epochs=3"}, folder_.path());
  EXPECT_EQ(on_purpose.exit_code, 0) << on_purpose.err;

  folder_.write("two.toml", "extends = \"one.toml\"\n[pipeline]\ntwin = \"gone.toml\"\n");
  const Finished alone = seam({"check", "two.toml"}, folder_.path());
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("its twin 'gone.toml' has errors"));
}

TEST_F(CheckTest, TripletsThatTheSamplerDoesNotMakeAreRefused) {
  const Finished checked = demo("check", pk());
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.err,
              AllOf(HasSubstr("stage 'triplet_loss' (loss.triplet) cannot use field 'roles', whose "
                              "values are single here"),
                    HasSubstr("needed:   anchor, positive, negative by stage 'triplet_loss'"),
                    HasSubstr("provided: single by stage 'triplet_batch' (batch)")));
}

TEST_F(CheckTest, TheDefaultsOfCapsuleNetworksWorkBehindAnySampler) {
  const std::vector<std::string> defaults{
      "stage.model={ use = \"model.sccapsnet\", classes = 14, width = 8, primary_channels = 64 }"};
  const Finished of_triplets = demo("run", defaults, {"--run-dir", "triplets"});
  EXPECT_EQ(of_triplets.exit_code, 0) << of_triplets.err;
  std::vector<std::string> set = pk(defaults);
  set.emplace_back("stage.triplet_loss={ use = \"loss.batch_hard\" }");
  const Finished of_items = demo("run", set, {"--run-dir", "items"});
  EXPECT_EQ(of_items.exit_code, 0) << of_items.err;
}

TEST_F(CheckTest, FewerClassesThanTheDataHasAreRefusedBeforeTheFirstStep) {
  const Finished run =
      demo("run", {"stage.model.classes=5", "schedule.before=[]"}, {"--run-dir", "out"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("the training data has 14 categories"),
                             HasSubstr("set classes = 14")));
  EXPECT_EQ(text_of_file(folder_.path() / "out/metrics.jsonl"), "");
}

TEST_F(CheckTest, WeightsThatAreNotThereAreNamedAndTheRunDoesNotStart) {
  const std::vector<std::string> weights{"stage.model.weights=no/such/run"};
  const Finished checked = demo("check", weights);
  EXPECT_EQ(checked.exit_code, 0) << "the file may be meant for another machine";
  EXPECT_THAT(checked.err, HasSubstr("'weights' of stage 'model' (model.sccapsnet): there is no "
                                     "'no/such/run'"));
  const Finished run = demo("run", weights, {"--run-dir", "out"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("the run was not started, because data is missing"));
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
}

TEST_F(CheckTest, AListThatIsNotThereIsNamed) {
  fs::create_directories(folder_.path() / "data/img");
  fs::create_directories(folder_.path() / "data/Eval");
  folder_.write("list.toml", R"(
[stage.items]
use = "dataset.inshop"
root = "data"
list = "Eval/other.txt"
[stage.shown]
use = "report.pictures"
[stage.decode]
use = "image.decode"
[stage.batch]
use = "batch"
[flow]
main = "items -> decode -> batch -> shown"
)");
  const Finished checked = seam({"check", "list.toml"}, folder_.path());
  EXPECT_THAT(checked.err, AllOf(HasSubstr("'list' of stage 'items' (dataset.inshop): there is no "
                                           "'data/Eval/other.txt'"),
                                 Not(HasSubstr("there is no folder"))));
  EXPECT_EQ(seam({"run", "list.toml"}, folder_.path()).exit_code, 3);
}

}  // namespace check_test
}  // namespace seam::test
