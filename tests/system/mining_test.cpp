/// Triplets with mined negatives: identical files for any number of threads, and after a stop or a
/// kill between the mining flow and the end of training.

#include <csignal>
#include <string>
#include <utility>

#include "tests/support/matchers.hpp"
#include "tests/system/run_fixture.hpp"

namespace seam::test::mining_test {

/// `at_mined` and `at_batch` are placed after the model.
const std::string small = R"(
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

class MiningTest : public RunFixture {
 protected:
  MiningTest() : RunFixture("mined.toml") {}

  void write(const std::string& schedule) const {
    write_extension("mined.toml", "demo-triplets.toml", small + schedule);
  }
  void expect_resumed_as_whole(const std::string& directory) const {
    const Finished resumed = resume(directory);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_as_whole(directory);
  }
  /// Kills a run in its second epoch; it continues to the same bytes.
  void expect_whole_after_a_kill() const {
    const Finished killed = run(
        "killed", 2, {}, {{"SEAM_TEST_RAISE_at_batch", "train 1 1 " + std::to_string(SIGKILL)}});
    EXPECT_EQ(killed.signal, SIGKILL);
    expect_resumed_as_whole("killed");
  }
};

TEST_F(MiningTest, IsTheSameForAnyNumberOfThreadsAndGoesOnToTheSameBytes) {
  write("each_epoch = [\"mine\", \"train\"]\n");
  EXPECT_THAT(completed("whole", 2), HasSubstr("semi_hard.distance"));
  completed("eight", 8);
  expect_as_whole("eight");

  const std::string interrupt = " " + std::to_string(SIGINT);
  for (const auto& [stage, where] :
       {std::pair{"at_mined", "mine 1 0"}, std::pair{"at_batch", "train 1 1"}}) {
    const std::string directory = std::string("stopped_") + stage;
    const Finished stopped =
        run(directory, 2, {}, {{std::string("SEAM_TEST_RAISE_") + stage, where + interrupt}});
    EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
    expect_resumed_as_whole(directory);
  }
  expect_whole_after_a_kill();
}

TEST_F(MiningTest, WhatWasMinedOnceIsKeptInTheCheckpoint) {
  write("before = [\"mine\"]\neach_epoch = [\"train\"]\n");
  completed("whole", 2);
  expect_whole_after_a_kill();
}

}  // namespace seam::test::mining_test
