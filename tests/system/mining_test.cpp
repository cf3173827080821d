/// Triplets with mined negatives: identical files for any number of threads, and after a stop or a
/// kill between the mining flow and the end of training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "seam/safetensors.hpp"
#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace mining_test {

using ::testing::HasSubstr;
using ::testing::Not;

/// `at_mined` and `at_batch` are placed after the model.
constexpr const char* small = R"(
[stage.train_items]
root = "wardrobe"
items = 28
[stage.at_mined]
use = "test.raise"
[stage.at_batch]
use = "test.raise"
[stage.triplets]
per_epoch = 32
negatives = "semi_hard"
mined = "mined"
[stage.mined]
use = "sampling.mined"
[stage.triplet_batch]
size = 24
[stage.model]
width = 8
primary_channels = 64
[flow]
mine  = "train_items -> prepare -> model -> at_mined -> mined"
train = "train_items -> triplets -> decode -> resize -> augment -> triplet_batch -> model -> at_batch -> triplet_loss -> adam"
[schedule]
epochs = 2
)";

class MiningTest : public ::testing::Test {
 protected:
  void write(const std::string& schedule) const {
    folder_.write("mined.toml", "extends = \"" + std::string(SEAM_SOURCE) +
                                    "/pipelines/demo-triplets.toml\"\n" + small + schedule);
  }
  Finished run(const std::string& directory, int threads, const std::vector<std::string>& set = {},
               const std::map<std::string, std::string>& environment = {}) const {
    std::vector<std::string> arguments{
        "run",       "mined.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS,
        "--run-dir", directory,    "--threads",     std::to_string(threads)};
    for (const std::string& value : set) {
      arguments.emplace_back("--set");
      arguments.push_back(value);
    }
    return seam(arguments, folder_.path(), environment);
  }
  void resume(const std::string& directory) const {
    const Finished resumed = seam({"run", "--resume", directory}, folder_.path());
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  }
  [[nodiscard]] std::string metrics(const std::string& directory) const {
    return text_of_file(folder_.path() / directory / "metrics.jsonl");
  }
  void expect_the_same(const std::string& a, const std::string& b) const {
    EXPECT_EQ(metrics(a), metrics(b));
    const auto weights = [this](const std::string& directory) {
      return read_safetensors(folder_.path() / directory / "checkpoints/epoch-2.safetensors")
          .tensors;
    };
    EXPECT_TRUE(weights(a) == weights(b)) << "other weights";
  }

  TemporaryFolder folder_;
};

TEST_F(MiningTest, IsTheSameForAnyNumberOfThreadsAndGoesOnToTheSameBytes) {
  write("each_epoch = [\"mine\", \"train\"]\n");
  const Finished whole = run("whole", 2);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(metrics("whole"), HasSubstr("semi_hard.distance"));
  ASSERT_EQ(run("eight", 8).exit_code, 0);
  expect_the_same("eight", "whole");

  const std::string interrupt = " " + std::to_string(SIGINT);
  for (const auto& [stage, where] :
       {std::pair{"at_mined", "mine 1 0"}, std::pair{"at_batch", "train 1 1"}}) {
    const std::string directory = std::string("stopped_") + stage;
    const Finished stopped =
        run(directory, 2, {}, {{std::string("SEAM_TEST_RAISE_") + stage, where + interrupt}});
    EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
    resume(directory);
    expect_the_same(directory, "whole");
  }

  const Finished killed =
      run("killed", 2, {}, {{"SEAM_TEST_RAISE_at_batch", "train 1 1 " + std::to_string(SIGKILL)}});
  EXPECT_EQ(killed.signal, SIGKILL);
  resume("killed");
  expect_the_same("killed", "whole");
}

TEST_F(MiningTest, WhatWasMinedOnceIsKeptInTheCheckpoint) {
  write("before = [\"mine\"]\neach_epoch = [\"train\"]\n");
  const Finished whole = run("whole", 2);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Finished killed =
      run("killed", 2, {}, {{"SEAM_TEST_RAISE_at_batch", "train 1 1 " + std::to_string(SIGKILL)}});
  EXPECT_EQ(killed.signal, SIGKILL);
  resume("killed");
  expect_the_same("killed", "whole");
}

TEST_F(MiningTest, TrainingBeforeMiningIsRefused) {
  write("each_epoch = [\"train\", \"mine\"]\n");
  const Finished finished = run("out", 2);
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("no negatives have been mined yet"));
  EXPECT_THAT(metrics("out"), Not(HasSubstr("\"loss\"")));
}

TEST_F(MiningTest, OtherImagesThanTheMinedOnesAreRefused) {
  write("each_epoch = [\"mine\", \"train\"]\n");
  const Finished finished = run("out", 2,
                                {"flow.mine=query_items -> prepare -> model -> mined",
                                 "stage.query_items.root=wardrobe", "stage.query_items.items=28"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("the mining flow must embed exactly the images"));
}

}  // namespace mining_test
}  // namespace seam::test
