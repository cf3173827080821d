#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace run_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RunTest : public ::testing::Test {
 protected:
  RunTest() { folder_.write("counting.toml", counting_pipeline(40)); }

  [[nodiscard]] const fs::path& here() const { return folder_.path(); }

  /// Arguments of `seam run` on the pipeline above.
  static std::vector<std::string> run_into(const std::string& directory,
                                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{
        "run", "counting.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir", directory};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Finished run(const std::string& directory, const std::vector<std::string>& more = {}) {
    return seam(run_into(directory, more), here());
  }
  Finished resume(const std::string& directory) {
    return seam({"run", "--resume", directory}, here());
  }
  [[nodiscard]] std::string score(const std::string& directory) const {
    return text_of_file(here() / directory / "score.json");
  }
  [[nodiscard]] std::string metrics(const std::string& directory) const {
    return text_of_file(here() / directory / "metrics.jsonl");
  }
  /// The metrics of an uninterrupted run.
  std::string whole_metrics() {
    EXPECT_EQ(run("whole").exit_code, 0);
    return metrics("whole");
  }

  TemporaryFolder folder_;
};

TEST_F(RunTest, LeavesARunDirectory) {
  const Finished finished = run("out");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const fs::path out = here() / "out";
  for (const char* file :
       {"resolved.toml", "metrics.jsonl", "timing.jsonl", "run.log", "summary.json",
        "checkpoints/epoch-4.safetensors", "checkpoints/epoch-3.safetensors",
        "reports/epoch-0003-train-total-the-total.md"}) {
    EXPECT_TRUE(fs::exists(out / file)) << file;
  }
  EXPECT_FALSE(fs::exists(out / "checkpoints/epoch-2.safetensors")) << "only the last two are kept";
  for (const auto& entry : fs::recursive_directory_iterator(out)) {
    EXPECT_NE(entry.path().extension(), ".part");
  }
  EXPECT_THAT(text_of_file(out / "summary.json"),
              AllOf(HasSubstr("\"outcome\":\"success\""), HasSubstr("\"epochs_done\":4"),
                    HasSubstr("\"ledger\":[]")));
  EXPECT_THAT(text_of_file(out / "reports/epoch-0003-train-total-the-total.md"),
              HasSubstr("# The total\n\nIt is "));
  EXPECT_THAT(finished.out, AllOf(HasSubstr("The total"), HasSubstr("bottleneck"),
                                  HasSubstr("every packet is accounted for")));
  EXPECT_THAT(finished.err, HasSubstr("epoch 4/4  train"));
}

TEST_F(RunTest, MetricsAreALineANumberWithoutTimes) {
  ASSERT_EQ(run("out", {"--set", "schedule.epochs=1", "--set", "stage.numbers.n=1", "--set",
                        "stage.add.chance=1", "--threads", "1"})
                .exit_code,
            0);
  EXPECT_EQ(metrics("out"),
            R"({"epoch":0,"flow":"","stage":"numbers","name":"openmp_threads","step":0,"value":1}
{"epoch":0,"flow":"train","stage":"add","name":"drawn","step":0,"value":0}
{"epoch":0,"flow":"train","stage":"total","name":"loss","step":0,"value":0.25}
{"epoch":0,"flow":"train","stage":"total","name":"total","step":0,"value":3}
)");
}

TEST_F(RunTest, TheNumberOfThreadsDoesNotChangeAByte) {
  // The number of threads would differ in the metrics, so without the stage that records it.
  const auto without_environment = [](const std::string& text) {
    return text.substr(text.find('\n'));
  };
  ASSERT_EQ(run("one", {"--threads", "1"}).exit_code, 0);
  ASSERT_EQ(run("four", {"--threads", "4"}).exit_code, 0);
  EXPECT_EQ(without_environment(metrics("one")), without_environment(metrics("four")));
}

TEST_F(RunTest, ItsThreadBudgetIsObeyedWhateverTheEnvironmentSays) {
  const Finished finished =
      seam(run_into("out", {"--threads", "3"}), here(), {{"OMP_NUM_THREADS", "8"}});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(metrics("out"), HasSubstr(R"("name":"openmp_threads","step":0,"value":3})"));
}

TEST_F(RunTest, TheFilesThreadsCountWhereTheCommandLineSaysNothing) {
  ASSERT_EQ(run("out", {"--set", "pipeline.threads=5"}).exit_code, 0);
  EXPECT_THAT(metrics("out"), HasSubstr(R"("name":"openmp_threads","step":0,"value":5})"));
}

TEST_F(RunTest, ResolvedFileIsAPipelineThatPassesCheck) {
  ASSERT_EQ(run("out", {"--set", "stage.add.amount=7"}).exit_code, 0);
  EXPECT_THAT(text_of_file(here() / "out/resolved.toml"),
              AllOf(HasSubstr("amount = 7"), HasSubstr("#: sha256 = \""), HasSubstr("#: seam = ")));
  const Finished check =
      seam({"check", "out/resolved.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS}, here());
  EXPECT_EQ(check.exit_code, 0) << check.err;
}

TEST_F(RunTest, WithoutAFolderItMakesOneForEachRun) {
  const std::vector<std::string> arguments{"run", "counting.toml", "--plugin-path",
                                           SEAM_SYSTEM_PLUGINS, "--quiet"};
  ASSERT_EQ(seam(arguments, here()).exit_code, 0);
  ASSERT_EQ(seam(arguments, here()).exit_code, 0);
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(here() / "runs")) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::StartsWith("counting-"));
    ++runs;
  }
  EXPECT_EQ(runs, 2);
}

TEST_F(RunTest, QuietPrintsTheScoreAlone) {
  const Finished finished = run("out", {"--quiet"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, AllOf(StartsWith("\nscore after epoch 4 of 4\nmetric "),
                                  HasSubstr("\ntotal.total  "), HasSubstr("\ntotal.loss   ")));
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 5) << finished.out;
  EXPECT_EQ(finished.err, "");
}

TEST_F(RunTest, TheScoreComesLastAndSaysWhereTheRunIs) {
  const Finished finished = run("out");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::string score = finished.out.substr(finished.out.find("\nscore after epoch 4 of 4\n"));
  EXPECT_THAT(score, EndsWith("\n\nrun   out\nnext  seam report out\n"));
  EXPECT_THAT(score, Not(HasSubstr("ledger")));
  EXPECT_THAT(finished.out, HasSubstr("bottleneck"));
  EXPECT_THAT(finished.out, HasSubstr("the 4 slowest of 5 stages; --timing shows all"));
  EXPECT_THAT(finished.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run("all", {"--timing"}).out, AllOf(ContainsRegex("of wall +p50 +p99  queue"),
                                                  Not(HasSubstr("--timing shows all"))));
}

TEST_F(RunTest, ColoursAreUsedWhereAskedFor) {
  const std::vector<std::string> always = run_into("colour", {"--color", "always"});
  EXPECT_THAT(seam(always, here(), {{"NO_COLOR", "1"}}).out, HasSubstr("\x1b[1mscore\x1b[0m"));
  EXPECT_THAT(run("never", {"--color", "never"}).out, Not(HasSubstr("\x1b")));
  const Finished wrong = run("wrong", {"--color", "blue"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--color"));
}

TEST_F(RunTest, EpochLinesHoldHeadlinesOnOneLine) {
  const Finished finished = run("out");
  EXPECT_THAT(finished.err, ContainsRegex("epoch 4/4  train[^\n]*: "
                                          "total.total [0-9.]+, loss [0-9.e-]+\n"));
  EXPECT_THAT(finished.err, Not(HasSubstr("add.drawn")));
}

TEST_F(RunTest, AKilledRunGoesOnBitForBit) {
  const Gate gate(here() / "gate");
  Program program(run_into("out"), here());
  gate.wait_until_reached();  // in the third of four epochs
  program.signal(SIGKILL);
  EXPECT_EQ(program.finish().signal, SIGKILL);
  gate.remove();
  EXPECT_FALSE(fs::exists(here() / "out/summary.json"));

  const Finished finished = resume("out");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("resuming after epoch 2 of 4"));
  EXPECT_THAT(finished.err, Not(HasSubstr("differ")));
  EXPECT_EQ(metrics("out"), whole_metrics());
  EXPECT_THAT(score("out"), AllOf(StartsWith(R"({"format":1,"scores":[{"metric":"total.total",)"),
                                  HasSubstr(R"("epoch":3,"best":{"value":)")));
  EXPECT_EQ(score("out"), score("whole"));
}

TEST_F(RunTest, ARunKilledBeforeItsFirstCheckpointBeginsAgain) {
  const Gate gate(here() / "gate");
  Program program(run_into("out", {"--set", "stage.gate.epoch=0"}), here());
  gate.wait_until_reached();
  program.signal(SIGKILL);
  program.finish();
  gate.remove();
  const Finished finished = resume("out");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("starting from the beginning"));
  EXPECT_EQ(metrics("out"), whole_metrics());
}

TEST_F(RunTest, ACheckpointThatCannotBeReadIsRefusedAndKept) {
  const std::string whole = whole_metrics();
  const fs::path newest = here() / "whole/checkpoints/epoch-4.safetensors";
  fs::rename(newest, here() / "elsewhere");
  fs::create_symlink(newest, newest);
  const Finished refused = resume("whole");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cannot open"), HasSubstr("epoch-4.safetensors'"),
                                 HasSubstr("Too many levels of symbolic links")));
  EXPECT_TRUE(fs::is_symlink(newest));
  fs::rename(here() / "elsewhere", newest);
  const Finished finished = resume("whole");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("nothing left to do"));
  EXPECT_EQ(metrics("whole"), whole);
}

TEST_F(RunTest, ADamagedCheckpointIsPassedOver) {
  const std::string whole = whole_metrics();
  const fs::path newest = here() / "whole/checkpoints/epoch-4.safetensors";
  fs::resize_file(newest, fs::file_size(newest) - 1);
  const Finished finished = resume("whole");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("epoch-4.safetensors' is damaged"),
                                  HasSubstr("renamed to 'epoch-4.safetensors.damaged'"),
                                  HasSubstr("resuming after epoch 3 of 4")));
  EXPECT_EQ(metrics("whole"), whole);
  EXPECT_TRUE(fs::exists(newest));
  EXPECT_TRUE(fs::exists(here() / "whole/checkpoints/epoch-4.safetensors.damaged"));
}

TEST_F(RunTest, WithEveryCheckpointDamagedItSaysSo) {
  whole_metrics();
  for (const char* name : {"epoch-3.safetensors", "epoch-4.safetensors"}) {
    fs::resize_file(here() / "whole/checkpoints" / name, 10);
  }
  const Finished finished = resume("whole");
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("no checkpoint of this run can be used"));
}

TEST_F(RunTest, ACompleteRunHasNothingLeftToDo) {
  const std::string whole = whole_metrics();
  const std::string summary = text_of_file(here() / "whole/summary.json");
  const Finished finished = resume("whole");
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("nothing left to do"));
  EXPECT_THAT(finished.out, HasSubstr("\nscore after epoch 4 of 4\n"));
  EXPECT_EQ(metrics("whole"), whole);
  EXPECT_EQ(text_of_file(here() / "whole/summary.json"), summary);
}

TEST_F(RunTest, AnInterruptStopsTheFlowAndTheRunGoesOnLater) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU}) {
    const std::string directory = "out" + std::to_string(number);
    const Gate gate(here() / "gate");
    // Many more packets than the limit: most are not emitted before the end.
    const std::vector<std::string> many{"--set", "stage.numbers.n=4000"};
    Program program(run_into(directory, many), here());
    gate.wait_until_reached();
    program.signal(number);
    program.wait_for_error_text("stopping");
    gate.open();
    const Finished stopped = program.finish();
    gate.remove();
    EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
    EXPECT_THAT(stopped.err, AllOf(HasSubstr("stopped on request after 2 of 4 epochs"),
                                   HasSubstr("seam run --resume")));
    EXPECT_THAT(stopped.out, EndsWith("\nnext  seam run --resume " + directory + "\n"));
    EXPECT_THAT(text_of_file(here() / directory / "summary.json"),
                HasSubstr("\"outcome\":\"cancelled\""));
    ASSERT_EQ(resume(directory).exit_code, 0);
    if (!fs::exists(here() / "whole")) {
      ASSERT_EQ(run("whole", many).exit_code, 0);
    }
    EXPECT_EQ(metrics(directory), metrics("whole"));
  }
}

TEST_F(RunTest, ASecondInterruptCancels) {
  const Gate gate(here() / "gate");
  Program program(run_into("out"), here());
  gate.wait_until_reached();
  program.signal(SIGINT);
  program.wait_for_error_text("stopping");
  program.signal_until_error_text(SIGTERM, "cancelling");
  // The gate stays closed: a stage that does not return has one second.
  const Finished stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
  EXPECT_THAT(stopped.err,
              AllOf(HasSubstr("has not ended within a second\n  gate  is processing 1 packet"),
                    HasSubstr("seam run --resume")));
  gate.remove();
  EXPECT_EQ(resume("out").exit_code, 0);
  EXPECT_EQ(metrics("out"), whole_metrics());
}

constexpr const char* listening = R"(
[stage.calls]
use = "test.listen"

[stage.total]
use = "test.total"

[flow]
main = "calls -> total"
)";

TEST_F(RunTest, ASourceThatWaitsIsInterrupted) {
  folder_.write("listening.toml", listening);
  Program program(
      {"run", "listening.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir", "out"}, here());
  program.wait_for_error_text("waiting for a caller");
  program.signal(SIGTERM);
  const Finished stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("stopped on request"));
}

TEST_F(RunTest, AFailureWakesASourceThatWaits) {
  std::string text = listening;
  const std::string total = "use = \"test.total\"";
  text.replace(text.find(total), total.size(), "use = \"test.fail\"\nat = 0");
  folder_.write("failing.toml", text);
  const Finished failed = seam({"run", "failing.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS,
                                "--run-dir", "out", "--threads", "2"},
                               here());
  EXPECT_EQ(failed.exit_code, 3) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("stage 'total'"));
}

TEST_F(RunTest, ASourceThatCannotBeInterruptedIsLeftBehind) {
  folder_.write("listening.toml", listening);
  Program program({"run", "listening.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir",
                   "out", "--set", "stage.calls.hearing=deaf"},
                  here());
  program.wait_for_error_text("waiting for a caller");
  program.signal(SIGINT);
  program.wait_for_error_text("stopping");
  program.signal_until_error_text(SIGTERM, "cancelling");
  const Finished stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("calls  is producing a packet"));
}

TEST_F(RunTest, AThirdInterruptKills) {
  const Gate gate(here() / "gate");
  Program program(run_into("out"), here());
  gate.wait_until_reached();
  program.signal(SIGHUP);
  program.wait_for_error_text("stopping");
  program.signal_until_error_text(SIGINT, "cancelling");
  const Finished killed = program.signal_until_end(SIGTERM);  // the gate stays closed
  EXPECT_EQ(killed.signal, SIGTERM) << killed.exit_code << killed.err;
  gate.remove();
  EXPECT_EQ(resume("out").exit_code, 0);
  EXPECT_EQ(metrics("out"), whole_metrics());
}

TEST_F(RunTest, UnderNohupAHangupIsNoRequest) {
  const Gate gate(here() / "gate");
  Program program(run_into("out"), here(), {}, Hangup::ignored);
  gate.wait_until_reached();
  program.signal(SIGHUP);
  gate.open();
  const Finished finished = program.finish();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST_F(RunTest, AServiceManagersPairOfSignalsIsOneRequest) {
  const Gate gate(here() / "gate");
  Program program(run_into("out"), here());
  gate.wait_until_reached();
  program.signal(SIGSTOP);  // so that both signals are pending
  program.signal(SIGTERM);
  program.signal(SIGHUP);
  program.signal(SIGCONT);
  program.wait_for_error_text("stopping");
  gate.open();
  const Finished stopped = program.finish();
  gate.remove();
  EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
  EXPECT_THAT(stopped.err, AllOf(HasSubstr("seam run --resume"), Not(HasSubstr("cancelling"))));
}

TEST_F(RunTest, AStageThatBlocksDoesNotOutliveTheTimeLimit) {
  const Gate gate(here() / "gate");
  const Finished stopped = run("out", {"--time-limit", "1s", "--stopped-code", "99"});
  gate.remove();
  EXPECT_EQ(stopped.exit_code, 99) << stopped.err;
  EXPECT_THAT(stopped.err,
              AllOf(HasSubstr("time limit reached"), HasSubstr("did not stop at its time limit"),
                    HasSubstr("gate  is processing 1 packet")));
  EXPECT_EQ(resume("out").exit_code, 0);
  EXPECT_EQ(metrics("out"), whole_metrics());
}

TEST_F(RunTest, TheStoppedCodeIsTheUsersAndNoOtherMeaning) {
  const Gate gate(here() / "gate");
  Program program(run_into("out", {"--stopped-code", "85"}), here());
  gate.wait_until_reached();
  program.signal(SIGUSR1);
  program.wait_for_error_text("stopping");
  gate.open();
  EXPECT_EQ(program.finish().exit_code, 85);
  gate.remove();
  EXPECT_EQ(run("other", {"--stopped-code", "85"}).exit_code, 0);
  EXPECT_EQ(run("failed", {"--stopped-code", "85", "--set", "stage.fail.at=3"}).exit_code, 3);
  for (const char* code : {"0", "3", "126", "x"}) {
    EXPECT_EQ(run("refused", {"--stopped-code", code}).exit_code, 2) << code;
  }
}

TEST_F(RunTest, TheSameCommandAgainGoesOnWithItsRun) {
  const std::vector<std::string> again{"--resume-if-present"};
  const Gate gate(here() / "gate");
  Program program(run_into("out", again), here());
  gate.wait_until_reached();
  program.signal(SIGUSR1);
  program.wait_for_error_text("stopping");
  gate.open();
  EXPECT_EQ(program.finish().exit_code, 4);
  gate.remove();
  const Finished resumed = run("out", again);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("resuming after epoch 2 of 4"));
  EXPECT_EQ(metrics("out"), whole_metrics());
  const Finished complete = run("out", again);
  EXPECT_EQ(complete.exit_code, 0);
  EXPECT_THAT(complete.err, HasSubstr("nothing left to do"));
}

TEST_F(RunTest, AnotherPipelineDoesNotGoOnWithTheRun) {
  ASSERT_EQ(run("out").exit_code, 0);
  const Finished other = run("out", {"--resume-if-present", "--set", "stage.add.amount=7"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("the run in 'out' has a different pipeline from"),
                               HasSubstr("stage.add.amount = 7 (was 3)")));
  const Finished limits = run("out", {"--resume-if-present", "--set", "limits.packets=64"});
  EXPECT_EQ(limits.exit_code, 0);
  EXPECT_THAT(limits.err,
              HasSubstr("continues with its own values, not these: limits.packets = 64 (was 256)"));
  EXPECT_EQ(seam({"run", "counting.toml", "--resume-if-present"}, here()).exit_code, 2)
      << "it needs --run-dir";
}

TEST_F(RunTest, ALedgerThatDoesNotBalanceEndsWith6) {
  const std::string flow = "flow.train=numbers -> gate -> fail -> add -> lose -> total";
  folder_.write("losing.toml", "extends = \"counting.toml\"\n[stage.lose]\nuse = \"test.lose\"\n");
  const Finished finished = seam({"run", "losing.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS,
                                  "--run-dir", "out", "--set", flow},
                                 here());
  EXPECT_EQ(finished.exit_code, 6) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("the ledger does not balance"),
                                  HasSubstr("'lose' dropped more packets than the 40")));
  EXPECT_THAT(text_of_file(here() / "out/summary.json"),
              AllOf(HasSubstr("\"outcome\":\"incomplete\""), HasSubstr("\"exit_code\":6")));
}

/// A stage that writes packets without declaring it must not change the results unnoticed.
TEST_F(RunTest, AStageThatBreaksItsDeclarationEndsTheRun) {
  folder_.write("misbehaving.toml",
                "extends = \"counting.toml\"\n[stage.misbehave]\nuse = \"test.misbehave\"\n");
  for (const auto& [deed, what] : std::vector<std::pair<std::string, std::string>>{
           {"changes", "it changes field 'number', but does not declare it"},
           {"changes_in_place", "it changes field 'number', but does not declare it"},
           {"adds", "it adds field 'item', but does not declare it"}}) {
    const Finished finished =
        seam({"run", "misbehaving.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir", deed,
              "--set", "stage.misbehave.deed=" + deed, "--set", "stage.misbehave.on_error=skip",
              "--set", "flow.train=numbers -> gate -> misbehave -> total"},
             here());
    EXPECT_EQ(finished.exit_code, 5) << deed << finished.err;
    EXPECT_THAT(finished.err,
                AllOf(HasSubstr("stage 'misbehave' breaks its declaration: "), HasSubstr(what)));
  }
}

TEST_F(RunTest, ACollectorThatMislaysPacketsEndsWith6) {
  folder_.write("mislaying.toml",
                "extends = \"counting.toml\"\n[stage.mislay]\nuse = \"test.mislay\"\n");
  for (const auto& [loss, what] : std::vector<std::pair<std::string, std::string>>{
           {"keeps_all", "collector 'mislay' received 40 packets, emitted nothing"},
           {"sends_and_drops", "collector 'mislay' dropped 40 packets that it also emitted"}}) {
    const Finished finished = seam(
        {"run", "mislaying.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir", loss, "--set",
         "stage.mislay.loss=" + loss, "--set", "flow.train=numbers -> gate -> mislay -> total"},
        here());
    EXPECT_EQ(finished.exit_code, 6) << loss << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(what));
  }
}

/// The output of a program if a stage crashes, or ends the process, in the third epoch.
class CrashTest : public RunTest {
 protected:
  Finished crash(const std::string& kind, const std::string& call = "process") {
    fs::remove_all(here() / "out");
    return run("out", {"--set", "stage.fail.kind=" + kind, "--set", "stage.fail.at=7", "--set",
                       "stage.fail.in=" + call});
  }
  [[nodiscard]] std::string left(const std::string& file) const {
    return text_of_file(here() / "out" / file);
  }
};

TEST_F(CrashTest, NamesStagePacketAndLibrary) {
  for (const auto& [kind, signal, what] : std::vector<std::tuple<std::string, int, std::string>>{
           {"null_write", SIGSEGV, "crash: segmentation fault at address 0x0"},
           {"overflow", SIGSEGV, "crash: segmentation fault at address 0x"},
           {"bus_error", SIGBUS, "crash: bus error in"},
           {"illegal", SIGILL, "crash: illegal instruction in"},
           {"arithmetic", SIGFPE, "crash: arithmetic error in"},
           {"crash", SIGABRT, "crash: abort in"}}) {
    const Finished crashed = crash(kind);
    EXPECT_EQ(crashed.signal, signal) << kind << crashed.err;
    const auto report = AllOf(HasSubstr(what),
                              HasSubstr(" in stage 'fail' (test.fail), while processing a "
                                        "packet, working on number 7\n"),
                              ContainsRegex("seam_system_stages.so\\(\\+0x[0-9a-f]+\\)"));
    EXPECT_THAT(crashed.err, report) << kind;
    EXPECT_THAT(left("run.log"), report) << kind;
    EXPECT_THAT(left("summary.json"),
                AllOf(HasSubstr("\"outcome\":\"crashed\""), HasSubstr("\"stage\":\"fail\""),
                      HasSubstr("\"exit_code\":" + std::to_string(128 + signal))))
        << kind;
    EXPECT_THAT(seam({"runs", "out"}, here()).out, HasSubstr("crashed: "));
  }
}

TEST_F(CrashTest, DoctorFindsTheLine) {
  if (!fs::exists("/usr/bin/addr2line")) GTEST_SKIP() << "addr2line is not installed";
  crash("null_write");
  const Finished told = seam({"doctor", "--crash", "out/run.log"}, here());
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(StartsWith("crash: segmentation fault"),
                              ContainsRegex("#0 +seam::test::.*fail.* at .*plugin.cpp:[0-9]+"),
                              ContainsRegex("lines were found for [0-9]+ of [0-9]+ frames")));
  const Finished without =
      seam({"doctor", "--crash", "out/run.log"}, here(), {{"PATH", "/nowhere"}});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("cannot start 'addr2line'"));
  folder_.write("quiet.log", "nothing happened\n");
  const Finished none = seam({"doctor", "--crash", "quiet.log"}, here());
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("'quiet.log' contains no crash report"));
}

TEST_F(CrashTest, AStageThatEndsTheProgramIsAFailure) {
  for (const auto& [call, doing] : std::vector<std::pair<std::string, std::string>>{
           {"open", "opening"},
           {"begin", "starting a flow"},
           {"process", "processing a packet, working on number 7"},
           {"end", "ending a flow"},
           {"close", "closing"}}) {
    for (const char* kind : {"exit", "quick_exit", "exit_at_once"}) {
      const Finished ended = crash(kind, call);
      EXPECT_EQ(ended.exit_code, 5) << call << ": " << kind << ended.err;
      EXPECT_THAT(ended.err, HasSubstr("error: stage 'fail' (test.fail) ended the program while " +
                                       doing + "; a stage must return, or throw"))
          << kind;
      EXPECT_THAT(left("run.log"), HasSubstr("crash: the program was ended in stage 'fail'"));
      EXPECT_THAT(left("summary.json"),
                  AllOf(HasSubstr("\"outcome\":\"crashed\""), HasSubstr("\"exit_code\":5")));
    }
  }
}

TEST_F(CrashTest, AThreadOfAPluginThatEndsTheProgramIsAFailure) {
  const Finished ended = crash("thread_exit");
  EXPECT_EQ(ended.exit_code, 5) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("error: a thread of a plugin ended the program during the run"));
  EXPECT_THAT(left("summary.json"), HasSubstr("\"outcome\":\"crashed\""));
}

TEST_F(CrashTest, TheResumedRunSaysWhyItHadEnded) {
  EXPECT_EQ(run("out", {"--set", "stage.fail.kind=crash", "--set", "stage.fail.at=7"}).signal,
            SIGABRT);
  const Finished resumed = resume("out");
  EXPECT_THAT(resumed.err,
              HasSubstr("the last process of this run crashed: abort in stage 'fail'"));
}

TEST_F(RunTest, AFlowThatStandsStillIsTold) {
  const Gate gate(here() / "gate");
  Program program(run_into("out", {"--set", "limits.stall_seconds=1"}), here());
  gate.wait_until_reached();
  program.wait_for_error_text("has made no progress for");
  gate.open();
  gate.remove();
  const Finished finished = program.finish();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("flow 'train' in epoch 3 of 4 has made no progress"),
                                  HasSubstr("gate     is processing 1 packet"),
                                  HasSubstr("total    is waiting for packets")));
  EXPECT_THAT(text_of_file(here() / "out/run.log"), HasSubstr("has made no progress"));
  EXPECT_EQ(metrics("out"), whole_metrics());
}

TEST_F(RunTest, ATraceHoldsACallForEachPacketOfEachStage) {
  ASSERT_EQ(run("out", {"--trace", "trace.json", "--set", "schedule.epochs=1"}).exit_code, 0);
  const std::string text = text_of_file(here() / "trace.json");
  const auto times = [&text](const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  };
  constexpr int calls = 40 + 1;  // calls of process() and of end()
  EXPECT_EQ(times(R"({"name":"add","cat":"train","ph":"X")"), calls);
  EXPECT_EQ(times(R"({"name":"total","cat":"train","ph":"X")"), calls);
  EXPECT_EQ(text.front(), '[');
  EXPECT_TRUE(text.ends_with("]\n"));
}

TEST_F(RunTest, ACollectorThatHoldsMoreThanTheLimitIsNamed) {
  folder_.write("shuffle.toml", R"([stage.items]
use = "dataset.wardrobe"
root = "wardrobe"
items = 8
views = 2

[stage.decode]
use = "image.decode"

[stage.shuffle]
use = "sampling.shuffle"

[flow]
main = "items -> decode -> shuffle"
)");
  const auto run_within = [&](const std::string& bytes) {
    return seam({"run", "shuffle.toml", "--set", "limits.bytes=" + bytes}, here());
  };
  const Finished refused = run_within("128 KiB");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("collector 'shuffle' holds 0.1"));
  EXPECT_THAT(refused.err, HasSubstr("more than `bytes` of [limits] allows (0.125 MiB)"));
  EXPECT_EQ(run_within("64 MiB").exit_code, 0);
}

TEST_F(RunTest, AFolderInUseIsRefused) {
  const Gate gate(here() / "gate");
  Program program(run_into("out"), here());
  gate.wait_until_reached();
  const Finished second = resume("out");
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("in use by another run"));
  gate.open();
  EXPECT_EQ(program.finish().exit_code, 0);
}

TEST_F(RunTest, AFolderThatHoldsARunIsRefused) {
  ASSERT_EQ(run("out").exit_code, 0);
  const Finished again = run("out");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("already contains a run"));
}

TEST_F(RunTest, AFailingStageEndsTheRunWithItsKindOfFault) {
  const Finished data = run("data", {"--set", "stage.fail.at=7"});
  EXPECT_EQ(data.exit_code, 3);
  EXPECT_THAT(data.err, AllOf(HasSubstr("this number cannot be read"), HasSubstr("number 7"),
                              HasSubstr("stage 'fail' (test.fail)"),
                              HasSubstr("flow 'train' in epoch 1 of 4")));
  const Finished internal =
      run("internal", {"--set", "stage.fail.at=7", "--set", "stage.fail.kind=internal"});
  EXPECT_EQ(internal.exit_code, 5);
  EXPECT_THAT(internal.err, HasSubstr("a defect"));
  EXPECT_THAT(text_of_file(here() / "internal/summary.json"),
              HasSubstr("\"outcome\":\"internal error\""));
}

TEST_F(RunTest, SkippedPacketsAreListed) {
  const Finished finished =
      run("out", {"--set", "stage.fail.at=7", "--set", "stage.fail.on_error=skip"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::string skipped = text_of_file(here() / "out/skipped.jsonl");
  EXPECT_THAT(skipped, AllOf(HasSubstr("\"epoch\":0"), HasSubstr("\"epoch\":3"),
                             HasSubstr("number 7"), HasSubstr("this number cannot be read")));
  EXPECT_THAT(finished.out, HasSubstr("skipped: 4 packets"));
}

TEST_F(RunTest, TooManySkippedPacketsOverAllEpochsEndTheRun) {
  const Finished finished =
      run("out", {"--set", "stage.fail.at=7", "--set", "stage.fail.on_error=skip", "--set",
                  "pipeline.max_errors=2"});
  EXPECT_EQ(finished.exit_code, 3) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("epoch 3 of 4"));
}

TEST_F(RunTest, ALargerShareOfSkippedPacketsThanAllowedEndsTheRun) {
  // One packet in forty fails.
  const std::vector<std::string> one_fails{"--set", "stage.fail.at=7", "--set",
                                           "stage.fail.on_error=skip"};
  std::vector<std::string> arguments = one_fails;
  arguments.insert(arguments.end(), {"--set", "pipeline.max_errors=0.02"});
  const Finished finished = run("strict", arguments);
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("failed on 1 of its 40 packets"), HasSubstr("epoch 1 of 4")));
  arguments.back() = "pipeline.max_errors=0.03";
  EXPECT_EQ(run("lenient", arguments).exit_code, 0);
  EXPECT_THAT(text_of_file(here() / "lenient/resolved.toml"), HasSubstr("max_errors = 0.03"));
  arguments.insert(arguments.end(), {"--set", "stage.fail.kind=internal"});
  arguments[arguments.size() - 3] = "pipeline.max_errors=1e-5";
  EXPECT_EQ(run("defect", arguments).exit_code, 5);
  EXPECT_EQ(resume("defect").exit_code, 5) << "resolved.toml can be read";
}

TEST_F(RunTest, DropsAreCountedWithTheirReason) {
  const Finished finished =
      run("out", {"--set", "stage.fail.at=7", "--set", "stage.fail.kind=drop"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("dropped by fail in train: 4 (not wanted)"));
}

TEST_F(RunTest, ABadFileLeavesNoFolder) {
  const Finished finished = run("out", {"--set", "stage.add.amuont=3"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("amuont"));
  EXPECT_FALSE(fs::exists(here() / "out"));
}

TEST_F(RunTest, AFolderThatCannotBeMadeIsAnError) {
  const Finished finished = run("/proc/no-such-folder");
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("cannot create the run folder"));
}

TEST_F(RunTest, AFolderThatIsNoRunCannotBeResumed) {
  const Finished finished = resume(".");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("is not a run folder"));
}

TEST_F(RunTest, AClosedOutputDoesNotEndTheRun) {
  Program program(run_into("out"), here());
  program.close_output();
  EXPECT_EQ(program.finish().exit_code, 0);
  EXPECT_TRUE(fs::exists(here() / "out/summary.json"));
}

TEST_F(RunTest, StopsEarlyWhereAMetricIsNoBetter) {
  const Finished finished = run(
      "out", {"--set", "schedule.epochs=50", "--set",
              R"(schedule.stop_early={ metric = "total.total", goal = "lowest", patience = 2 })"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("total.total has not improved for 2 measurements"));
  EXPECT_THAT(text_of_file(here() / "out/summary.json"),
              AllOf(HasSubstr("\"stopped_early\":true"), HasSubstr("\"epochs_done\":3")));
  EXPECT_TRUE(fs::exists(here() / "out/checkpoints/epoch-1.safetensors")) << "the best is kept";
}

TEST_F(RunTest, AMetricThatNobodyRecordsIsNamed) {
  const Finished finished =
      run("out", {"--set", R"(schedule.stop_early={ metric = "total.totl", patience = 2 })"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("'total.totl'"), HasSubstr("total.total")));
}

TEST_F(RunTest, AResumeFindsPluginsThatMovedInTheSearchPath) {
  // The plugin is in SEAM_PLUGIN_PATH, and is moved between the runs.
  const fs::path first = here() / "first";
  const fs::path second = here() / "second";
  fs::create_directory(first);
  for (const auto& entry : fs::directory_iterator(SEAM_SYSTEM_PLUGINS)) {
    if (entry.path().filename() == "seam_system_stages.so") fs::copy(entry.path(), first);
  }
  const std::vector<std::string> arguments{"run",   "counting.toml",     "--run-dir", "out",
                                           "--set", "stage.numbers.n=2", "--quiet"};
  const Finished begun = seam(arguments, here(), {{"SEAM_PLUGIN_PATH", first.string()}});
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  fs::copy(first, second);
  const Finished beside =
      seam({"run", "--resume", "out"}, here(), {{"SEAM_PLUGIN_PATH", second.string()}});
  EXPECT_EQ(beside.exit_code, 0) << "its own plugin, not the copy: " << beside.err;
  fs::remove_all(first);
  const Finished lost = resume("out");
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_THAT(lost.err, AllOf(HasSubstr("no plugin provides stage"), HasSubstr("SEAM_PLUGIN_PATH"),
                              HasSubstr("the run's own record")));
  const Finished moved =
      seam({"run", "--resume", "out"}, here(), {{"SEAM_PLUGIN_PATH", second.string()}});
  EXPECT_EQ(moved.exit_code, 0) << "SEAM_PLUGIN_PATH is what was recommended: " << moved.err;
}

TEST_F(RunTest, DataThatIsNotThereIsToldBeforeAnythingRuns) {
  folder_.write("folder.toml",
                "[stage.items]\nuse = \"fixture.folder\"\nroot = \"data\"\n"
                "[flow]\nmain = \"items\"\n");
  const std::string plugins = SEAM_ODD_PLUGINS "/good";
  const Finished checked = seam({"check", "folder.toml", "--plugin-path", plugins}, here());
  EXPECT_EQ(checked.exit_code, 0) << "it may be meant for another machine";
  EXPECT_THAT(checked.err,
              AllOf(HasSubstr("warning: 'root' of stage 'items'"),
                    HasSubstr((here() / "data").string()), HasSubstr("[missing-folder]")));
  const std::vector<std::string> arguments{"run",   "folder.toml", "--plugin-path",
                                           plugins, "--run-dir",   "out"};
  const Finished refused = seam(arguments, here());
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("the run was not started"));
  EXPECT_FALSE(fs::exists(here() / "out"));
  fs::create_directories(here() / "data/images");
  EXPECT_THAT(seam(arguments, here()).err,
              HasSubstr("does not contain 'Eval/list.txt' or 'list.txt'"));
  folder_.write("data/list.txt", "");
  EXPECT_EQ(seam(arguments, here()).exit_code, 0);
}

}  // namespace run_test
}  // namespace seam::test
