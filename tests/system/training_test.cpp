/// A complete training run with the real program and the real stages: what must not change it.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>

#include "tests/system/run_fixture.hpp"

namespace seam::test::training_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* training = R"(
[pipeline]
name = "training"
seed = 3

[stage.train_items]
use = "dataset.wardrobe"
root = "wardrobe"
items = 28
colours = 2
views = 2
size = 32

[stage.query_items]
like = "train_items"
split = "query"

[stage.gallery_items]
like = "train_items"
split = "gallery"

[stage.triplets]
use = "sampling.triplets"

[stage.decode]
use = "image.decode"

[stage.augment]
use = "image.augment"

[stage.triplet_batch]
use = "batch"
size = 24
group_size = 3

[stage.digest]
use = "test.digest"

[stage.batch]
use = "batch"
size = 10

[stage.model]
use = "model.sccapsnet"
classes = 14
width = 16
primary_channels = 64

[stage.triplet_loss]
use = "loss.triplet"

[stage.adam]
use = "train.adam"

[stage.gallery]
use = "retrieval.index"
masks = ["none", "predicted", "ground_truth"]

[stage.search]
use = "retrieval.search"
index = "gallery"
masks = ["none", "predicted", "ground_truth"]

[stage.recall]
use = "retrieval.recall"

[flow]
train    = "train_items -> triplets -> decode -> augment -> triplet_batch -> digest -> model -> triplet_loss -> adam"
gallery  = "gallery_items -> decode -> batch -> model -> gallery"
evaluate = "query_items -> decode -> batch -> model -> search -> recall"

[schedule]
epochs = 3
each_epoch = ["train", "gallery", "evaluate"]
)";

class TrainingTest : public RunFixture {
 protected:
  TrainingTest() : RunFixture("training.toml") { folder_.write(file_, training); }

  [[nodiscard]] Finished run(const std::string& directory, int threads) const {
    return seam(run_into(directory, threads), here());
  }
};

TEST_F(TrainingTest, EightThreadsMakeTheBatchesAndRecallsOfOne) {
  const Finished one = run("one", 1);
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const Finished eight = run("eight", 8);
  ASSERT_EQ(eight.exit_code, 0) << eight.err;
  EXPECT_THAT(metrics("one"), HasSubstr(R"("name":"digest")"));
  EXPECT_THAT(metrics("one"), HasSubstr(R"("name":"ground_truth.r@1")"));
  EXPECT_EQ(metrics("one"), metrics("eight"));
}

// The branch does not affect training: results are identical to those without it.
TEST_F(TrainingTest, ABranchBesideTheLossChangesNothing) {
  const Finished plain = run("plain", 2);
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  const auto metric_lines = [this](const std::string& directory, const std::string& stage) {
    std::istringstream lines(metrics(directory));
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"stage\":\"" + stage + "\"") != std::string::npos) kept += line + '\n';
    }
    return kept;
  };
  std::string text = training;
  const std::string chain = "model -> triplet_loss -> adam\"";
  text.replace(text.find(chain), chain.size(), "model -> {triplet_loss -> adam, seen}\"");
  text.replace(text.find("[stage.gallery]"), 0, "[stage.seen]\nuse = \"loss.triplet\"\n\n");
  folder_.write("training.toml", text);
  for (const int threads : {1, 8}) {
    const std::string directory = "forked" + std::to_string(threads);
    const Finished forked = run(directory, threads);
    ASSERT_EQ(forked.exit_code, 0) << forked.err;
    for (const char* stage : {"digest", "triplet_loss", "adam"}) {
      EXPECT_THAT(metric_lines(directory, stage), Not(IsEmpty()));
      EXPECT_EQ(metric_lines(directory, stage), metric_lines("plain", stage)) << stage;
    }
  }
}

TEST_F(TrainingTest, AllLibrariesTogetherKeepToTheThreadBudget) {
  std::string text = training;
  const std::string digest = "test.digest";
  text.replace(text.find(digest), digest.size(), "test.count_threads");
  const std::string chain = "triplets -> decode -> augment";
  text.replace(text.find(chain), chain.size(), "triplets -> decode -> workers -> augment");
  text += "\n[stage.workers]\nuse = \"test.count_workers\"\n";
  folder_.write("training.toml", text);
  struct Threads {
    int all, in_libtorch, in_parallel_stage;
  };
  const auto threads = [&](int budget) {
    const Finished finished = seam(
        run_into("out" + std::to_string(budget), budget), here(),
        {{"OMP_NUM_THREADS", "24"}, {"MKL_NUM_THREADS", "24"}, {"OPENBLAS_NUM_THREADS", "24"}});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const auto number = [&finished](const std::string& before) {
      const std::size_t last = finished.err.rfind(before);
      return last == std::string::npos ? 0 : std::stoi(finished.err.substr(last + before.size()));
    };
    return Threads{number("threads: "), number("working in LibTorch: "), number("at once: ")};
  };
  // Always present: the main and the compute thread, those of the display, the watchdog and the
  // source, and two for signals. The budget determines oneTBB's workers, OpenMP's team and
  // LibTorch's own pool, which sleeps; each is one smaller than the budget, since the calling
  // thread works too.
  constexpr int always = 7;
  const Threads one = threads(1);
  EXPECT_LE(one.all, always);
  EXPECT_EQ(one.in_libtorch, 1);
  EXPECT_EQ(one.in_parallel_stage, 1);
  const Threads four = threads(4);
  EXPECT_GT(four.all, always);
  EXPECT_LE(four.all, always + 3 * (4 - 1));
  // Active threads: each library by itself stays within the budget.
  EXPECT_EQ(four.in_libtorch, 4);
  EXPECT_GE(four.in_parallel_stage, 1);
  EXPECT_LE(four.in_parallel_stage, 4);
}

TEST_F(TrainingTest, KilledOrStoppedInTheMiddleOfAnEvaluationItGoesOnToTheSameMetrics) {
  std::string text = training;
  const std::string chain = "query_items -> decode -> batch -> model";
  text.replace(text.find(chain), chain.size(), "query_items -> decode -> batch -> gate -> model");
  text += "\n[stage.gate]\nuse = \"test.gate\"\nfolder = \"gate\"\nepoch = 1\nat = 1\n";
  folder_.write("training.toml", text);
  const Finished whole = run("whole", 2);  // without a gate
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  for (const int signal : {SIGKILL, SIGINT}) {
    const std::string directory = "signal-" + std::to_string(signal);
    const Gate gate(here() / "gate");
    Program program(run_into(directory, 2), here());
    gate.wait_until_reached();  // the first query batch has been searched
    program.signal(signal);
    if (signal != SIGKILL) program.wait_for_error_text("stopping");
    if (signal != SIGKILL) gate.open();
    gate.remove();
    (void)program.finish();
    const Finished resumed = resume(directory);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(metrics(directory), metrics("whole")) << directory;
  }
}

TEST_F(TrainingTest, ASkippedBatchLeavesNoTraceInWeightsStatisticsAndMetrics) {
  const auto with_batch = [&](const std::string& action, int number) {
    std::string text = training;
    const std::string digest = "use = \"test.digest\"";
    text.replace(text.find(digest), digest.size(),
                 "use = \"test.one_batch\"\naction = \"" + action +
                     "\"\nnumber = " + std::to_string(number));
    const std::string adam = "use = \"train.adam\"";
    text.replace(text.find(adam), adam.size(), adam + "\non_error = \"skip\"");
    folder_.write("training.toml", text);
    const std::string directory = action + std::to_string(number);
    const Finished finished = seam(run_into(directory, 2, {"--set", "schedule.epochs=2"}), here(),
                                   {{"OMP_WAIT_POLICY", "passive"}});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return metrics(directory);
  };
  for (const int number : {2, 6}) {  // 7 batches per flow
    const std::string never_there = with_batch("drop", number);
    EXPECT_THAT(never_there, HasSubstr(R"("name":"loss")"));
    EXPECT_EQ(with_batch("spoil", number), never_there) << "batch " << number;
  }
}

TEST_F(TrainingTest, ATrainingWithoutASingleStepFailsAndSaysWhere) {
  const Finished finished = seam(run_into("none", 2,
                                          {"--set", "stage.triplet_batch.size=4800", "--set",
                                           "stage.triplet_batch.group_size=4800"}),
                                 here());
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("the optimizer accepted no batch, so nothing was trained"));
  EXPECT_THAT(finished.err, HasSubstr("'triplet_batch' dropped "));
  EXPECT_THAT(finished.err, HasSubstr("nothing arrived at 'digest'"));
  EXPECT_FALSE(std::filesystem::exists(here() / "none/score.json"));
}

TEST_F(TrainingTest, ATrainingWhoseOptimizerFailsOnEveryBatchFails) {
  std::string text = training;
  const std::string digest = "use = \"test.digest\"";
  text.replace(text.find(digest), digest.size(),
               "use = \"test.one_batch\"\naction = \"spoil\"\nnumber = 0");
  folder_.write("training.toml", text);
  const Finished finished = seam(
      run_into("none", 2,
               {"--set", "stage.adam.on_error=skip", "--set", "stage.triplet_batch.size=4800"}),
      here());
  EXPECT_EQ(finished.exit_code, 3) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("nothing was trained\n"));
  EXPECT_THAT(finished.err, HasSubstr("'adam' failed on 1 packet"));
}

}  // namespace seam::test::training_test
