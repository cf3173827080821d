#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/system/run_fixture.hpp"

namespace seam::test::sweep_test {

namespace fs = std::filesystem;

/// Waits until no process holds the run folder.
void wait_until_free(const fs::path& run) {
  const int file = ::open((run / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(::flock(file, LOCK_EX), 0);
  ::close(file);
}

class SweepTest : public RunFixture {
 protected:
  SweepTest() : RunFixture("counting.toml") { folder_.write(file_, counting_pipeline()); }

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
  std::vector<std::string> grid_{
      "--over", "stage.add.amount=1,2,3", "--over", "pipeline.seed=1..2", "--threads", "1"};
};

TEST_F(SweepTest, KilledWithItsRunsItGoesOn) {
  ASSERT_EQ(sweep("whole", grid_).exit_code, 0);
  const Gate gate(here() / "gate");
  {
    Program program(sweep_into("out", grid_), here(), {{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}});
    gate.wait_until_reached();  // in the third epoch of the first run
    program.signal_group(SIGKILL);
    EXPECT_EQ(program.finish().signal, SIGKILL);
  }
  const Finished drawn = seam({"graph", "out/amount=1,seed=1"});
  EXPECT_EQ(drawn.exit_code, 0) << "a run without summary.json: " << drawn.err;
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
  wait_for_text(here() / "out/output/amount=1,seed=1.txt", "stopping after the current step");
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

TEST_F(SweepTest, AFileIsCheckedWithAVariantThatItsSweepGoesOver) {
  folder_.write("variants.toml",
                "extends = \"counting.toml\"\n[variants]\nsize = [\"small\", \"big\"]\n"
                "[variant.small]\n[variant.big.stage.numbers]\nn = 80\n[variant.odd]\n"
                "[sweep]\nover = [\"variants\", \"pipeline.seed=1..2\"]\n");
  EXPECT_THAT(seam({"check", "variants.toml"}).out, HasSubstr("a sweep of 4 runs"));
  const Finished chosen = seam({"check", "variants.toml", "--variant", "big"});
  EXPECT_EQ(chosen.exit_code, 0) << chosen.err;
  EXPECT_THAT(chosen.out, Not(HasSubstr("a sweep")));
  EXPECT_THAT(seam({"check", "variants.toml", "--variant", "odd"}).out,
              HasSubstr("a sweep of 4 runs"));
}

}  // namespace seam::test::sweep_test
