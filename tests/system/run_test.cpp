#include <csignal>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/system/run_fixture.hpp"

namespace seam::test::run_test {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;

class RunTest : public RunFixture {
 protected:
  RunTest() : RunFixture("counting.toml") { folder_.write(file_, counting_pipeline()); }

  Finished run(const std::string& directory, const std::vector<std::string>& more = {}) {
    return seam(run_into(directory, more), here());
  }
  [[nodiscard]] std::string score(const std::string& directory) const {
    return text_of_file(here() / directory / "score.json");
  }
  /// Kills a run at its gate, in the third of four epochs.
  void kill_at_gate(const std::vector<std::string>& arguments) const {
    const Gate gate(here() / "gate");
    Program program(arguments, here());
    gate.wait_until_reached();
    program.signal(SIGKILL);
    EXPECT_EQ(program.finish().signal, SIGKILL);
    gate.remove();
  }
  /// Asks a run at its gate to stop, and opens the gate once it knows.
  [[nodiscard]] Finished stop_at_gate(const std::vector<std::string>& arguments, int number) const {
    const Gate gate(here() / "gate");
    Program program(arguments, here());
    gate.wait_until_reached();
    program.signal(number);
    program.wait_for_error_text("stopping");
    gate.open();
    Finished stopped = program.finish();
    gate.remove();
    return stopped;
  }
  /// The metrics of an uninterrupted run.
  std::string whole_metrics() {
    EXPECT_EQ(run("whole").exit_code, 0);
    return metrics("whole");
  }
};

TEST_F(RunTest, AKilledRunGoesOnBitForBit) {
  kill_at_gate(run_into("out"));
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
  kill_at_gate(run_into("out", {"--set", "stage.gate.epoch=0"}));
  const Finished finished = resume("out");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("starting from the beginning"));
  EXPECT_EQ(metrics("out"), whole_metrics());
}

TEST_F(RunTest, OneFromAnotherRunThatIsKilledGoesOnWithTheNewValues) {
  ASSERT_EQ(run("out", {"--set", "schedule.epochs=2"}).exit_code, 0);
  std::vector<std::string> from_out{
      "run",       "--from", "out", "--set", "schedule.epochs=4", "--set", "stage.add.amount=5",
      "--run-dir", "whole"};
  ASSERT_EQ(seam(from_out, here()).exit_code, 0);
  from_out.back() = "new";
  kill_at_gate(from_out);  // its newest checkpoint is the other run's
  const Finished finished = resume("new");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(metrics("new"), metrics("whole"));
}

TEST_F(RunTest, AnInterruptStopsTheFlowAndTheRunGoesOnLater) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU}) {
    const std::string directory = "out" + std::to_string(number);
    // Many more packets than the limit: most are not emitted before the end.
    const std::vector<std::string> many{"--set", "stage.numbers.n=4000"};
    const Finished stopped = stop_at_gate(run_into(directory, many), number);
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
  program.request_until_error_text(SIGTERM, "cancelling");
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
  file_ = folder_.write("listening.toml", listening).filename();
  Program program(run_into("out"), here());
  program.wait_for_error_text("waiting for a caller");
  program.signal(SIGTERM);
  const Finished stopped = program.finish();
  EXPECT_EQ(stopped.exit_code, 4) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("stopped on request"));
}

TEST_F(RunTest, ASourceThatCannotBeInterruptedIsLeftBehind) {
  file_ = folder_.write("listening.toml", listening).filename();
  Program program(run_into("out", {"--set", "stage.calls.hearing=deaf"}), here());
  program.wait_for_error_text("waiting for a caller");
  program.signal(SIGINT);
  program.wait_for_error_text("stopping");
  program.request_until_error_text(SIGTERM, "cancelling");
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
  program.request_until_error_text(SIGINT, "cancelling");
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
  // The time includes the start, and even a slow machine must be at the gate before it is up.
  const Finished stopped =
      run("out", {"--time-limit", "3s", "--stopped-code", "99", "--set", "stage.gate.epoch=0"});
  gate.remove();
  EXPECT_EQ(stopped.exit_code, 99) << stopped.err;
  EXPECT_THAT(stopped.err,
              AllOf(HasSubstr("time limit reached"), HasSubstr("did not stop at its time limit"),
                    HasSubstr("gate  is processing 1 packet")));
  EXPECT_EQ(resume("out").exit_code, 0);
  EXPECT_EQ(metrics("out"), whole_metrics());
}

TEST_F(RunTest, TheStoppedCodeIsTheUsers) {
  EXPECT_EQ(stop_at_gate(run_into("out", {"--stopped-code", "85"}), SIGUSR1).exit_code, 85);
}

TEST_F(RunTest, TheSameCommandAgainGoesOnWithItsRun) {
  const std::vector<std::string> again{"--resume-if-present"};
  EXPECT_EQ(stop_at_gate(run_into("out", again), SIGUSR1).exit_code, 4);
  const Finished resumed = run("out", again);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("resuming after epoch 2 of 4"));
  EXPECT_EQ(metrics("out"), whole_metrics());
  const Finished complete = run("out", again);
  EXPECT_EQ(complete.exit_code, 0);
  EXPECT_THAT(complete.err, HasSubstr("nothing left to do"));
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
  EXPECT_EQ(crash("crash").signal, SIGABRT);
  const Finished resumed = resume("out");
  EXPECT_THAT(resumed.err,
              HasSubstr("the last process of this run crashed: abort in stage 'fail'"));
}

TEST_F(RunTest, AFlowThatStandsStillIsTold) {
  const Gate gate(here() / "gate");
  Program program(run_into("out", {"--set", "limits.stall_seconds=1"}), here());
  gate.wait_until_reached();
  program.wait_for_error_text("in epoch 3 of 4 has made no progress for");
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

TEST_F(RunTest, AClosedOutputDoesNotEndTheRun) {
  Program program(run_into("out"), here());
  program.close_output();
  EXPECT_EQ(program.finish().exit_code, 0);
  EXPECT_TRUE(fs::exists(here() / "out/summary.json"));
}

}  // namespace seam::test::run_test
