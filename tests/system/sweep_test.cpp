#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace sweep_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Waits until no process holds the run folder.
void wait_until_free(const fs::path& run) {
  const int file = ::open((run / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(::flock(file, LOCK_EX), 0);
  ::close(file);
}

class SweepTest : public ::testing::Test {
 protected:
  SweepTest() { folder_.write("counting.toml", counting_pipeline(20)); }

  [[nodiscard]] const fs::path& here() const { return folder_.path(); }
  [[nodiscard]] Finished seam(const std::vector<std::string>& arguments) const {
    return test::seam(arguments, here(), {{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}});
  }
  static std::vector<std::string> sweep_into(const std::string& directory,
                                             const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"sweep", "counting.toml", "--sweep-dir", directory};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  [[nodiscard]] Finished sweep(const std::string& directory,
                               const std::vector<std::string>& more) const {
    return seam(sweep_into(directory, more));
  }
  [[nodiscard]] std::string metrics(const std::string& run) const {
    return text_of_file(here() / run / "metrics.jsonl");
  }

  TemporaryFolder folder_;
  std::vector<std::string> grid_{
      "--over", "stage.add.amount=1,2,3", "--over", "pipeline.seed=1..2", "--threads", "1"};
};

TEST_F(SweepTest, MakesANormalRunForEachCombination) {
  const Finished finished = sweep("out", grid_);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("1/6  amount=1,seed=1: complete in "),
                                  HasSubstr("6/6  amount=3,seed=2: complete in "),
                                  HasSubstr("6 of 6 runs are complete\n")));
  ASSERT_EQ(seam({"run", "counting.toml", "--run-dir", "single", "--set", "stage.add.amount=2",
                  "--set", "pipeline.seed=2", "--threads", "1"})
                .exit_code,
            0);
  EXPECT_EQ(metrics("out/amount=2,seed=2"), metrics("single"));
  EXPECT_NE(metrics("out/amount=2,seed=1"), metrics("single"));
  const Finished again = seam({"sweep", "--resume", "out"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, AllOf(Not(HasSubstr("1/")), HasSubstr("6 of 6 runs are complete")));
  EXPECT_EQ(sweep("out", grid_).exit_code, 2) << "it holds a sweep already";
}

TEST_F(SweepTest, KilledWithItsRunsItGoesOn) {
  ASSERT_EQ(sweep("whole", grid_).exit_code, 0);
  const Gate gate(here() / "gate");
  {
    Program program(sweep_into("out", grid_), here(), {{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}});
    gate.wait_until_reached();  // in the third epoch of the first run
    program.signal_group(SIGKILL);
    EXPECT_EQ(program.finish().signal, SIGKILL);
  }
  wait_until_free(here() / "out/amount=1,seed=1");
  gate.remove();
  const fs::path output = here() / "out/output/amount=1,seed=1.txt";
  const std::string said_before = "said before it was killed\n";
  std::ofstream(output, std::ios::app) << said_before;
  const Finished list = seam({"runs", "out"});
  EXPECT_THAT(list.out,
              AllOf(HasSubstr("interrupted"), HasSubstr("2/4"), HasSubstr("not started")));
  // The plan is in the folder: neither file, plugin path nor flags are needed.
  fs::remove(here() / "counting.toml");
  const Finished resumed = test::seam({"sweep", "--resume", "out"}, here());
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(text_of_file(here() / "out/amount=1,seed=1/run.log"),
              HasSubstr("resuming after epoch 2 of 4"));
  EXPECT_THAT(text_of_file(output),
              AllOf(StartsWith(said_before), HasSubstr("after epoch 4 of 4")));
  for (const char* run : {"amount=1,seed=1", "amount=1,seed=2", "amount=3,seed=2"}) {
    EXPECT_EQ(metrics(std::string("out/") + run), metrics(std::string("whole/") + run));
  }
}

TEST_F(SweepTest, ARunDoesNotOutliveAKilledSweep) {
  const Gate gate(here() / "gate");
  {
    Program program(sweep_into("out", grid_), here(), {{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}});
    gate.wait_until_reached();
    program.signal(SIGKILL);
    EXPECT_EQ(program.finish().signal, SIGKILL);
  }
  const Finished refused = seam({"sweep", "--resume", "out"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("is still in progress (process "));
  gate.open();
  wait_until_free(here() / "out/amount=1,seed=1");
  EXPECT_THAT(seam({"runs", "out"}).out, HasSubstr("stopped"));
}

TEST_F(SweepTest, ASignalStopsTheRunsInGoodOrder) {
  const Gate gate(here() / "gate");
  Program program(sweep_into("out", grid_), here(), {{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}});
  gate.wait_until_reached();
  program.signal(SIGUSR1);
  program.wait_for_error_text("stopping the runs in progress");
  wait_for_text(here() / "out/output/amount=1,seed=1.txt", "stopping after the current step");
  gate.open();
  const Finished stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 4);
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("amount=1,seed=1: stopped after 2 of 4 epochs"),
                                 HasSubstr("seam sweep --resume"), Not(HasSubstr("2/6"))));
  gate.remove();
  const Finished resumed = seam({"sweep", "--resume", "out", "--jobs", "2", "--threads", "2"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("6 of 6 runs are complete"));
}

TEST_F(SweepTest, OneFailedRunDoesNotEndTheOthers) {
  const Finished finished = sweep("out", {"--over", "stage.fail.at=5,-1,7"});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(
      finished.err,
      AllOf(HasSubstr("1/3  at=5: failed with exit code 3: this number cannot be read"),
            HasSubstr("2/3  at=-1: complete"), HasSubstr("1 of 3 runs are complete, 2 failed")));
}

TEST_F(SweepTest, ARunThatCrashedCountsAsInternalAndOneThatWasKilledAsCancelled) {
  const std::vector<std::string> at_5{"--set", "stage.fail.at=5"};
  const auto of_kinds = [&](const std::string& directory, const std::string& kinds) {
    std::vector<std::string> more = at_5;
    more.insert(more.end(), {"--over", "stage.fail.kind=" + kinds});
    return sweep(directory, more);
  };
  const Finished crashed = of_kinds("crash_first", "crash,killed");
  EXPECT_EQ(crashed.exit_code, 5);
  EXPECT_THAT(crashed.err, HasSubstr("killed by signal 6: crashed: abort in stage 'fail'"));
  EXPECT_EQ(of_kinds("killed_first", "killed,crash").exit_code, 4);
}

TEST_F(SweepTest, ThreadsAreSharedOut) {
  ASSERT_EQ(
      sweep("out", {"--over", "pipeline.seed=1..2", "--jobs", "2", "--threads", "3"}).exit_code, 0);
  const std::string both = metrics("out/seed=1") + metrics("out/seed=2");
  EXPECT_THAT(both, AllOf(HasSubstr("\"openmp_threads\",\"step\":0,\"value\":1"),
                          HasSubstr("\"openmp_threads\",\"step\":0,\"value\":2")));
  const Finished refused =
      sweep("other", {"--over", "pipeline.seed=1..4", "--jobs", "4", "--threads", "3"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("4 parallel runs need 4 threads, but there are only 3"));
}

TEST_F(SweepTest, AllCombinationsAreCheckedBeforeTheFirst) {
  for (const auto& [over, message] : std::vector<std::pair<std::string, std::string>>{
           {"stage.add.amuont=1,2", "'amuont' is not a parameter of test.add"},
           {"stage.ad.amount=1,2", "ad"},
           {"stage.add.amount=1,2000", "'amount' of test.add takes"},
           {"schedul.epochs=1,2", "'schedul' is not a table"},
           {"stage.add.amount=1..2:log", "needs random search (--random N)"},
           {"stage.add.amount=1,0x1", "would be identical"}}) {
    const Finished refused = sweep("out", {"--over", over});
    EXPECT_EQ(refused.exit_code, 2) << over;
    EXPECT_THAT(refused.err, HasSubstr(message)) << over;
  }
  EXPECT_THAT(seam({"sweep", "/dev/null", "--over", "pipeline.seed=1..2"}).err,
              HasSubstr("needs a regular file"));
  EXPECT_FALSE(fs::exists(here() / "out"));
  EXPECT_FALSE(fs::exists(here() / "runs"));
  const Finished dry = sweep("out", {"--over", "pipeline.seed=1..2", "--dry-run"});
  EXPECT_EQ(dry.out, "seed=1\nseed=2\n");
  EXPECT_FALSE(fs::exists(here() / "out"));
}

TEST_F(SweepTest, TheFileMaySayWhatToGoOver) {
  folder_.write(
      "table.toml",
      "extends = \"counting.toml\"\n[sweep]\nover = [\"pipeline.seed=1..20\"]\nrandom = 3\n");
  EXPECT_THAT(seam({"sweep", "table.toml"}).err, HasSubstr("nothing to draw"));
  const Finished finished = seam(
      {"sweep", "table.toml", "--over", "stage.add.amount=1..9", "--set", "schedule.epochs=1"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("3 of 3 runs are complete"));
  EXPECT_EQ(seam({"run", "table.toml", "--set", "schedule.epochs=1"}).exit_code, 0);
  folder_.write("table.toml",
                "extends = \"counting.toml\"\n[sweep]\nover = [\"stage.add.amount=1..3\"]\n");
  EXPECT_EQ(seam({"check", "table.toml"}).out,
            "table.toml: ok: 5 stages, 1 flow; a sweep of 3 runs\n");
  for (const char* over : {"stage.add.amuont=1..3", "stage.add.amount=1,0x1"}) {
    folder_.write("table.toml",
                  std::string("extends = \"counting.toml\"\n[sweep]\nover = [\"") + over + "\"]\n");
    const Finished refused = seam({"check", "table.toml"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.out, Not(HasSubstr("ok")));
    EXPECT_THAT(refused.err, AnyOf(HasSubstr("'amuont'"), HasSubstr("would be identical")));
  }
  folder_.write("bad.toml",
                "extends = \"counting.toml\"\n[sweep]\nover = [\"pipeline.seed=3..1\"]\n");
  const Finished bad = seam({"check", "bad.toml"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("bad.toml:3:9"), HasSubstr("from a smaller number")));
}

TEST_F(SweepTest, RunsAreListedAndCompared) {
  ASSERT_EQ(sweep("runs/sweep", grid_).exit_code, 0);
  const auto for_runs = [this](const auto& work) {
    for (const auto& entry : fs::directory_iterator(here() / "runs/sweep")) {
      if (fs::exists(entry.path() / "resolved.toml")) work(entry.path());
    }
  };
  const Finished list = seam({"runs", "--metric", "total.total"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out,
              AllOf(HasSubstr("sweep/amount=1,seed=1 "), HasSubstr("complete"), HasSubstr("4/4"),
                    HasSubstr("total.total"), HasSubstr("seed=2 amount=3")));
  EXPECT_THAT(seam({"runs", "--json"}).out,
              HasSubstr("\"changed\":{\"pipeline.seed\":\"1\",\"stage.add.amount\":\"1\"}"));

  for_runs([](const fs::path& run) { fs::remove(run / "score.json"); });
  const Finished unclear = seam({"compare", "runs/sweep"});
  EXPECT_EQ(unclear.exit_code, 2);
  EXPECT_THAT(unclear.err, AllOf(HasSubstr("--metric STAGE.METRIC"), HasSubstr("total.loss")));
  EXPECT_THAT(seam({"compare", "runs/sweep", "--metric", "total.total"}).err,
              HasSubstr("--better higher"));
  EXPECT_THAT(seam({"compare", "runs/sweep", "--metric", "total.totl", "--better", "lower"}).err,
              HasSubstr("did you mean 'total.total'"));
  EXPECT_EQ(seam({"compare", "runs"}).exit_code, 2);
  EXPECT_EQ(seam({"runs", "elsewhere"}).exit_code, 2);

  for_runs([this](const fs::path& run) {
    folder_.write("runs/sweep/" + run.filename().string() + "/score.json",
                  R"({"format":1,"scores":[{"metric":"total.total","value":1,"standard_error":null,
                  "better":"higher","flow":"train","epoch":3,"best":{"value":1,"epoch":3},
                  "protocol":"counting/4"}]})");
  });
  const Finished table = seam({"compare", "runs/sweep"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("total.total of the last epoch, higher is better; 6 runs\n"),
                    HasSubstr("\n3          2 "), HasSubstr("best"), HasSubstr("95 %")));
  EXPECT_THAT(seam({"compare", "runs/sweep", "--csv"}).out, HasSubstr("\r\n1,1,total.total,3,2,"));
  const Finished single =
      seam({"compare", "runs/sweep/amount=1,seed=1", "runs/sweep/amount=2,seed=1"});
  EXPECT_EQ(single.exit_code, 0);
  EXPECT_THAT(single.out, Not(HasSubstr("[")));
  const Finished twice =
      seam({"compare", "runs/sweep/amount=1,seed=1", "runs/sweep/./amount=1,seed=1"});
  EXPECT_THAT(twice.out, HasSubstr("; 1 run\n")) << "one run that is named twice";
}

class VariantSweep : public SweepTest {
 protected:
  VariantSweep() {
    folder_.write("varied.toml", "extends = \"counting.toml\"\n" + std::string(R"(
[variants]
amount = ["one", "two"]
length = ["short", "long"]
[variant.one.stage.add]
amount = 1
[variant.two.stage.add]
amount = 2
[variant.short.schedule]
epochs = 1
[variant.long.schedule]
epochs = 2
)"));
  }
};

TEST_F(VariantSweep, GoesOverAllGroupsAndShowsTheirNames) {
  const Finished swept = seam(
      {"sweep", "varied.toml", "--over", "variants", "--sweep-dir", "runs/s", "--threads", "1"});
  EXPECT_EQ(swept.exit_code, 0) << swept.err;
  EXPECT_THAT(swept.err, HasSubstr("4 of 4 runs are complete"));
  const Finished alone = seam(
      {"run", "varied.toml", "--variant", "two,short", "--threads", "1", "--run-dir", "alone"});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(metrics("runs/s/amount=two,length=short"), metrics("alone"));
  const Finished list = seam({"runs", "runs/s", "--json"});
  EXPECT_THAT(list.out, HasSubstr(R"("changed":{"variant.amount":"two","variant.length":"long"})"));
  const Finished compared =
      seam({"compare", "runs/s", "--metric", "total.total", "--better", "higher"});
  EXPECT_THAT(compared.out, AllOf(HasSubstr("amount  length"), HasSubstr("two     long"),
                                  Not(HasSubstr("epochs"))));
  EXPECT_THAT(text_of_file(here() / "runs/s/amount=two,length=long/summary.json"),
              HasSubstr(R"("variants":["amount=two","length=long"])"));
}

TEST_F(VariantSweep, IsRefusedBeforeItStarts) {
  const Finished unknown = seam({"sweep", "varied.toml", "--over", "variant.amount=one,tow"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no variant 'tow'"), HasSubstr("did you mean 'two'?")));
  const Finished twice =
      seam({"sweep", "varied.toml", "--variant", "one", "--over", "variant.amount"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("'one' and 'two' both belong to the group 'amount'"));
  EXPECT_FALSE(fs::exists(here() / "runs"));
}

TEST_F(VariantSweep, CheckTriesEachChoiceAndNamesIt) {
  EXPECT_THAT(seam({"check", "varied.toml"}).out, HasSubstr("4 combinations of variants"));
  folder_.write("wrong.toml", "extends = \"varied.toml\"\n[variant.two.stage.add]\namonut = 2\n");
  const Finished wrong = seam({"check", "wrong.toml"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("wrong.toml:3:1: error: 'amonut'"),
                               HasSubstr("with --variant two,short"), HasSubstr("1 error")));
  EXPECT_EQ(seam({"check", "wrong.toml", "--variant", "one"}).exit_code, 0);
}

TEST_F(VariantSweep, ARunKeepsItsVariants) {
  EXPECT_EQ(seam({"run", "varied.toml", "--variant", "two", "--run-dir", "a"}).exit_code, 0);
  const Finished resumed = seam({"run", "--resume", "a", "--variant", "one"});
  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_THAT(resumed.err, HasSubstr("--variant cannot change the pipeline of an earlier run"));
  const Finished more =
      seam({"run", "--from", "a", "--set", "schedule.epochs=5", "--run-dir", "b"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(text_of_file(here() / "b/resolved.toml"), HasSubstr("variants = [\"amount=two\"]"));
  const Finished same =
      seam({"run", "varied.toml", "--variant", "two", "--run-dir", "a", "--resume-if-present"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  const Finished other =
      seam({"run", "varied.toml", "--variant", "one", "--run-dir", "a", "--resume-if-present"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("stage.add.amount"));
}

TEST_F(VariantSweep, OtherVerbsTakeThem) {
  EXPECT_THAT(seam({"inspect", "varied.toml", "add", "--variant", "two"}).out, HasSubstr("2"));
  EXPECT_EQ(seam({"graph", "varied.toml", "--variant", "two"}).exit_code, 0);
  EXPECT_EQ(seam({"graph", "varied.toml", "--variant", "tow"}).exit_code, 2);
  EXPECT_EQ(seam({"complete", "run", "varied.toml", "--variant", "t"}).out, "two\n");
}

}  // namespace sweep_test
}  // namespace seam::test
