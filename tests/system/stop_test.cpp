/// A training run that is stopped or killed within an epoch continues to bit-identical results: two
/// losses, dropout, a frozen part and accumulated gradients, with the real program and the real
/// stages.

#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/system/run_fixture.hpp"

namespace seam::test::stop_test {

namespace fs = std::filesystem;

/// `at_picture` comes after `decode` in all flows, `at_batch` after the model in training.
constexpr const char* small = R"(
[stage.train_items]
root = "wardrobe"
items = 28
[stage.query_items]
root = "wardrobe"
items = 28
[stage.gallery_items]
root = "wardrobe"
items = 28
[stage.at_picture]
use = "test.raise"
[stage.at_batch]
use = "test.raise"
[stage.triplets]
per_epoch = 64
[stage.triplet_batch]
size = 24
[stage.model]
width = 8
primary_channels = 64
dropout = 0.3
freeze = ["f.0.*"]
[stage.adam]
accumulate = 2
warm_up = 3
gradient_norm = true
[flow]
train    = "train_items -> triplets -> decode -> at_picture -> resize -> augment -> triplet_batch -> model -> at_batch -> triplet_loss -> category_loss -> adam"
gallery  = "gallery_items -> decode -> at_picture -> resize -> batch -> model -> gallery"
evaluate = "query_items -> decode -> at_picture -> resize -> batch -> model -> search -> recall"
[schedule]
epochs = 2
each_epoch = ["train", "gallery", "evaluate"]
)";

/// The same with batches of 4 items with 3 images each, which end only at the next batch's first.
constexpr const char* pairs = R"(
[stage.pairs]
use = "sampling.pk"
items = 4
images = 3
per_epoch = 8
[stage.pair_batch]
use = "batch"
size = 12
[stage.model]
towers = "together"
[stage.pair_loss]
use = "loss.batch_hard"
[flow]
train    = "train_items -> pairs -> decode -> at_picture -> resize -> augment -> pair_batch -> model -> at_batch -> pair_loss -> category_loss -> adam"
)";

class StopTest : public RunFixture {
 protected:
  StopTest() : RunFixture("small.toml") {
    write_extension("small.toml", "demo-two-losses.toml", small);
  }

  Finished resume(const std::string& directory, int threads,
                  const std::map<std::string, std::string>& environment = {}) const {
    return seam({"run", "--resume", directory, "--threads", std::to_string(threads)}, here(),
                environment);
  }
  [[nodiscard]] bool has_checkpoint(const std::string& directory, const std::string& name) const {
    return fs::exists(here() / directory / "checkpoints" / (name + ".safetensors"));
  }
  void expect_as_whole(const std::string& directory) const {
    RunFixture::expect_as_whole(directory);
    for (const auto& entry : fs::directory_iterator(here() / directory / "checkpoints")) {
      EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("step")));
    }
  }
  /// Position at which test.raise raises a signal: "train 1 7" is flow, epoch, packet.
  static std::map<std::string, std::string> raise(const std::string& stage,
                                                  const std::string& where, int signal) {
    return {{"SEAM_TEST_RAISE_" + stage, where + " " + std::to_string(signal)}};
  }
  Finished stop(const std::string& directory, int threads, const std::string& stage,
                const std::string& where) const {
    Finished stopped = run(directory, threads, {}, raise(stage, where, SIGINT));
    EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("seam run --resume"));
    EXPECT_THAT(text_of_file(here() / directory / "summary.json"),
                HasSubstr("\"outcome\":\"cancelled\""));
    return stopped;
  }
};

// 64 triplets in batches of 8 make 8 batches and 4 steps of the optimizer.
TEST_F(StopTest, AtTheNextStepOfTheOptimizer) {
  completed("whole", 2);
  for (const int threads : {1, 8}) {
    const std::string directory = "stopped" + std::to_string(threads);
    const Finished stopped = stop(directory, threads, "at_batch", "train 1 2");
    EXPECT_THAT(stopped.err, HasSubstr("in epoch 2 of 2, after step 4 of flow 'train'; the newest "
                                       "checkpoint is epoch-1-step-4.safetensors"));
    const Finished resumed = resume(directory, threads);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("resuming in epoch 2 of 2, after step 4 of flow 'train'"));
    EXPECT_THAT(text_of_file(here() / directory / "timing.jsonl"), HasSubstr("\"images\":96,"))
        << "none of the first four batches is decoded again";
    expect_as_whole(directory);
  }
}

TEST_F(StopTest, AtAnyMomentAgainAndAgain) {
  file_ = folder_.write("pk.toml", std::string("extends = \"small.toml\"\n") + pairs).filename();
  completed("whole", 2);
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same moments each time
  const auto below = [&random](unsigned count) { return std::to_string(random() % count); };
  for (const int threads : {1, 8}) {
    const std::string directory = "stopped" + std::to_string(threads);
    stop(directory, threads, "at_picture", "train 0 " + below(96));
    for (const std::string& where :
         {"train 0 " + below(96), "gallery 0 " + below(20), "evaluate 0 " + below(20),
          "train 1 " + below(96), "train 1 " + below(96), "evaluate 1 " + below(20)}) {
      SCOPED_TRACE(where + " with " + std::to_string(threads) + " threads");
      // If the image was already processed, no signal is raised and the run ends.
      const Finished again = resume(directory, threads, raise("at_picture", where, SIGINT));
      ASSERT_TRUE(again.exit_code == 4 || again.exit_code == 0) << again.err;
    }
    const Finished resumed = resume(directory, threads);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_as_whole(directory);
  }
}

TEST_F(StopTest, KilledItGoesOnFromACheckpointWithinTheEpoch) {
  completed("whole", 2);
  const std::vector<std::string> every{"--set", "schedule.checkpoint_every={ steps = 3 }"};
  const Finished killed = run("killed", 2, every, raise("at_batch", "train 1 7", SIGKILL));
  EXPECT_EQ(killed.signal, SIGKILL);
  // Due after 3 and 6 steps; after 3, half of the optimizer's gradient is accumulated.
  EXPECT_TRUE(has_checkpoint("killed", "epoch-1-step-4"));
  EXPECT_TRUE(has_checkpoint("killed", "epoch-1-step-6"));
  const Finished resumed = resume("killed", 2);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("after step 6 of flow 'train'"));
  expect_as_whole("killed");
}

TEST_F(StopTest, BetweenTheFlowsOfAnEpochNothingIsTrainedAgain) {
  completed("whole", 2);
  stop("stopped", 2, "at_picture", "evaluate 1 3");
  EXPECT_TRUE(has_checkpoint("stopped", "epoch-1-flow-2"));
  const Finished resumed = resume("stopped", 2);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, AllOf(Not(HasSubstr("train:")), Not(HasSubstr("gallery:"))));
  expect_as_whole("stopped");
}

TEST_F(StopTest, ATimeLimitStopsItInTheSameWay) {
  const Finished refused = run("out", 1, {"--time-limit", "3"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("such as 3h, 90m or 1h30m, not 3"));
  completed("whole", 2);
  // Signal 0 means no signal: the stage waits until the run is asked to stop, which may happen
  // before its first flow on a busy machine.
  const Finished stopped = run("out", 2, {"--time-limit", "1s"}, raise("at_batch", "train 0 2", 0));
  EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("time limit reached"));
  ASSERT_EQ(resume("out", 2).exit_code, 0);
  expect_as_whole("out");
}

TEST_F(StopTest, AStageThatCannotBeLeftIsNamedAndTheEpochIsDoneAgain) {
  folder_.write("digest.toml", R"(extends = "small.toml"
[stage.digest]
use = "test.digest"
[flow]
train = "train_items -> triplets -> decode -> at_picture -> resize -> augment -> triplet_batch -> digest -> model -> at_batch -> triplet_loss -> category_loss -> adam"
)");
  file_ = "digest.toml";
  completed("whole", 2);
  const Finished stopped = stop("stopped", 2, "at_batch", "train 1 2");
  EXPECT_THAT(stopped.err, HasSubstr("'digest'"));
  const Finished resumed = resume("stopped", 2);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_as_whole("stopped");
}

TEST_F(StopTest, AnotherRunBeginsBetweenTwoEpochsOfAStoppedOne) {
  stop("stopped", 2, "at_batch", "train 1 2");
  const Finished begun = seam({"run", "--from", "stopped", "--run-dir", "new", "--threads", "2",
                               "--set", "stage.adam.rate=1e-4"},
                              here());
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_THAT(begun.err, HasSubstr("continuing after epoch 1 of 2, from epoch-1.safetensors"));
}

TEST_F(StopTest, TheRateMayChangeButNotTheShapeOfWhatWasTrained) {
  completed("whole", 2);
  const auto begin_with = [&](const std::string& setting) {
    return seam({"run", "--from", "whole", "--run-dir", "new", "--set", "schedule.epochs=3",
                 "--set", setting},
                here());
  };
  const Finished refused = begin_with("stage.model.width=16");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("'model'"));
  fs::remove_all(here() / "new");
  const Finished begun = begin_with("stage.adam.rate=1e-5");
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_THAT(text_of_file(here() / "new/metrics.jsonl"),
              AllOf(HasSubstr(R"("name":"rate")"), HasSubstr(R"({"epoch":2,"flow":"train")")));
}

}  // namespace seam::test::stop_test
