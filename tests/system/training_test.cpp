/// A complete training run with the real program and the real stages: what must not change it.

#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>

#include "tests/support/matchers.hpp"
#include "tests/system/run_fixture.hpp"

namespace seam::test::training_test {

const std::string training = text_of_file(SEAM_SOURCE "/tests/system/training.toml");

/// The text with `what`, which it has, replaced.
std::string changed(const std::string& text, const std::string& what, const std::string& by) {
  EXPECT_THAT(text, HasSubstr(what));
  return replaced(text, what, by);
}

class TrainingTest : public RunFixture {
 protected:
  TrainingTest() : RunFixture("training.toml") { folder_.write(file_, training); }

  /// Instead of the digest, a stage that does something with one batch of each flow.
  void write_one_batch(const std::string& action, int number) const {
    folder_.write(file_, changed(training, "\"test.digest\"",
                                 "\"test.one_batch\"\naction = \"" + action +
                                     "\"\nnumber = " + std::to_string(number)));
  }
};

TEST_F(TrainingTest, EightThreadsMakeTheBatchesAndRecallsOfOne) {
  const std::string one = completed("one", 1);
  EXPECT_THAT(one, HasSubstr(R"("name":"digest")"));
  EXPECT_THAT(one, HasSubstr(R"("name":"ground_truth.r@1")"));
  EXPECT_EQ(one, completed("eight", 8));
}

// The branch does not affect training: results are identical to those without it.
TEST_F(TrainingTest, ABranchBesideTheLossChangesNothing) {
  completed("plain", 2);
  const auto metric_lines = [this](const std::string& directory, const std::string& stage) {
    std::istringstream lines(metrics(directory));
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"stage\":\"" + stage + "\"") != std::string::npos) kept += line + '\n';
    }
    return kept;
  };
  folder_.write(file_,
                changed(training, "> triplet_loss -> adam\"", "> {triplet_loss -> adam, seen}\"") +
                    "[stage.seen]\nuse = \"loss.triplet\"\n");
  for (const int threads : {1, 8}) {
    const std::string directory = "forked" + std::to_string(threads);
    completed(directory, threads);
    for (const char* stage : {"digest", "triplet_loss", "adam"}) {
      EXPECT_THAT(metric_lines(directory, stage), Not(IsEmpty()));
      EXPECT_EQ(metric_lines(directory, stage), metric_lines("plain", stage)) << stage;
    }
  }
}

TEST_F(TrainingTest, AllLibrariesTogetherKeepToTheThreadBudget) {
  const std::string counts = changed(training, "test.digest", "test.count_threads");
  folder_.write(file_, changed(counts, "-> augment", "-> workers -> augment") +
                           "\n[stage.workers]\nuse = \"test.count_workers\"\n");
  struct Threads {
    int all, in_libtorch, in_parallel_stage;
  };
  const auto threads = [&](int budget) {
    const Finished finished =
        run("out" + std::to_string(budget), budget, {},
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
  folder_.write(file_,
                changed(training, "batch -> model -> search", "batch -> gate -> model -> search") +
                    "[stage.gate]\nuse = \"test.gate\"\nfolder = \"gate\"\nepoch = 1\nat = 1\n");
  completed("whole", 2);  // without a gate
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
    write_one_batch(action, number);
    return completed(action + std::to_string(number), 2,
                     {"--set", "schedule.epochs=2", "--set", "stage.adam.on_error=skip"});
  };
  for (const int number : {2, 6}) {  // 7 batches per flow
    const std::string never_there = with_batch("drop", number);
    EXPECT_THAT(never_there, HasSubstr(R"("name":"loss")"));
    EXPECT_EQ(with_batch("spoil", number), never_there) << "batch " << number;
  }
}

TEST_F(TrainingTest, ATrainingWithoutASingleStepFailsAndSaysWhere) {
  const Finished finished =
      run("none", 2,
          {"--set", "stage.triplet_batch.size=4800", "--set", "stage.triplet_batch.last=drop"});
  EXPECT_EQ(finished.exit_code, 2) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("the optimizer accepted no batch, so nothing was trained"));
  EXPECT_THAT(finished.err, HasSubstr("'triplet_batch' dropped "));
  EXPECT_THAT(finished.err, HasSubstr("nothing arrived at 'digest'"));
  EXPECT_FALSE(std::filesystem::exists(here() / "none/score.json"));
}

TEST_F(TrainingTest, ATrainingThatLosesMostOfItsImagesSaysSo) {
  completed("drawn", 2, {"--set", "schedule.epochs=1"});
  std::istringstream list(
      text_of_file((here() / "wardrobe/Eval/list_eval_partition.txt").string()));
  std::string count;
  list >> count;
  int number = 0;
  for (std::string image, item, split; list >> image >> item >> split;) {
    if (split == "train" && number++ % 2 == 0)
      std::filesystem::resize_file(here() / "wardrobe" / image, 20);
  }
  const Finished finished =
      run("damaged", 2, {"--set", "schedule.epochs=1", "--set", "stage.decode.on_error=skip"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const std::string text = finished.out + finished.err;
  EXPECT_THAT(text, HasSubstr("in stage 'triplet_batch': it was trained on the rest"));
}

TEST_F(TrainingTest, ATrainingWhoseOptimizerFailsOnEveryBatchFails) {
  write_one_batch("spoil", 0);
  const Finished finished = run(
      "none", 2, {"--set", "stage.adam.on_error=skip", "--set", "stage.triplet_batch.size=4800"});
  EXPECT_EQ(finished.exit_code, 3) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("nothing was trained\n"));
  EXPECT_THAT(finished.err, HasSubstr("'adam' failed on 1 packet"));
}

}  // namespace seam::test::training_test
