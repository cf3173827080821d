/// Runs that start from another run's checkpoint, with different parameters: which parameters may
/// change, the contents of both runs' files afterwards, and that a process killed at any moment
/// leaves either a run that continues with the new values or no run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "seam/safetensors.hpp"
#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace from_run_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FromRunTest : public ::testing::Test {
 protected:
  FromRunTest() { folder_.write("counting.toml", counting_pipeline(40)); }

  [[nodiscard]] const fs::path& here() const { return folder_.path(); }
  static std::vector<std::string> with(std::vector<std::string> arguments,
                                       const std::vector<std::string>& set) {
    for (const std::string& setting : set) {
      arguments.emplace_back("--set");
      arguments.push_back(setting);
    }
    return arguments;
  }
  /// A run with this many epochs.
  void run(const std::string& directory, int epochs, const std::string& amount = "3") {
    const Finished finished = seam(
        with({"run", "counting.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir", directory},
             {"schedule.epochs=" + std::to_string(epochs), "stage.add.amount=" + amount}),
        here());
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
  }
  static std::vector<std::string> beginning(const std::string& from, const std::string& directory,
                                            const std::vector<std::string>& set) {
    return with({"run", "--from", from, "--run-dir", directory}, set);
  }
  Finished begin(const std::string& from, const std::string& directory,
                 const std::vector<std::string>& set = {}) {
    return seam(beginning(from, directory, set), here());
  }
  Finished resume(const std::string& directory) {
    return seam({"run", "--resume", directory}, here());
  }
  [[nodiscard]] std::string file(const std::string& directory, const std::string& name) const {
    return text_of_file(here() / directory / name);
  }
  void expect_refused(const std::string& setting, const std::string& why) {
    const Finished finished = begin("out", "new", {setting});
    EXPECT_EQ(finished.exit_code, 2) << setting << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(why));
    EXPECT_FALSE(fs::exists(here() / "new")) << setting;
  }

  TemporaryFolder folder_;
};

TEST_F(FromRunTest, AnExtendedRunIsAsOneOfThatLength) {
  run("whole", 4);
  run("out", 2);
  const std::string resolved = file("out", "resolved.toml");
  const Finished finished = begin("out", "new", {"schedule.epochs=4"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err,
              AllOf(HasSubstr("starting from out/epoch-2.safetensors: schedule.epochs = 4 (was 2)"),
                    HasSubstr("continuing after epoch 2 of 4"), Not(HasSubstr("differ"))));
  EXPECT_EQ(file("new", "metrics.jsonl"), file("whole", "metrics.jsonl"));
  EXPECT_EQ(file("new", "score.json"), file("whole", "score.json"));
  EXPECT_THAT(file("new", "resolved.toml"),
              AllOf(HasSubstr("#: [from]\n#: run = \"" + (here() / "out").string() +
                              "\"\n#: checkpoint = \"epoch-2.safetensors\"\n"),
                    HasSubstr("\nepochs = 4\n")));
  EXPECT_THAT(resume("new").err, HasSubstr("nothing left to do"));
  EXPECT_EQ(file("out", "resolved.toml"), resolved);
}

TEST_F(FromRunTest, AResumedRunKeepsItsPipeline) {
  run("out", 2);
  const Finished refused = seam(with({"run", "--resume", "out"}, {"schedule.epochs=4"}), here());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("seam run --from out --set schedule.epochs=4"));
}

TEST_F(FromRunTest, ListsAndComparisonsTellItFromARunOfTheNewValues) {
  run("runs/out", 2);
  run("runs/whole", 4, "5");
  ASSERT_EQ(begin("runs/out", "runs/new", {"schedule.epochs=4", "stage.add.amount=5"}).exit_code,
            0);
  EXPECT_THAT(seam({"runs"}, here()).out, HasSubstr("from=out/epoch-2.safetensors"));
  const Finished compared = seam({"compare", "runs/new", "runs/whole"}, here());
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr("out/epoch-2.safetensors"), Not(HasSubstr("repeats"))));
  EXPECT_EQ(seam({"report", "runs/new"}, here()).exit_code, 0);
  EXPECT_THAT(file("runs/new", "report.html"), HasSubstr("out/epoch-2.safetensors"));
}

TEST_F(FromRunTest, OneThatIsKilledGoesOnWithTheNewValues) {
  run("out", 2);
  const std::vector<std::string> set{"schedule.epochs=4", "stage.add.amount=5"};
  ASSERT_EQ(begin("out", "whole", set).exit_code, 0);
  const Gate gate(here() / "gate");
  Program program(beginning("out", "new", set), here());
  gate.wait_until_reached();  // in the third epoch: its newest checkpoint is the other run's
  program.signal(SIGKILL);
  program.finish();
  gate.remove();
  const Finished finished = resume("new");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(file("new", "metrics.jsonl"), file("whole", "metrics.jsonl"));
}

TEST_F(FromRunTest, TheBestCheckpointComesAlongAndIsKept) {
  const std::string keep = "schedule.keep={ best = \"total.total\", last = 1 }";
  const auto names = [this](const std::string& directory) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(here() / directory / "checkpoints")) {
      found.push_back(entry.path().filename());
    }
    std::ranges::sort(found);
    return found;
  };
  run("out", 2, "1000");
  // The total falls from the third epoch on, so the second one's checkpoint stays the best.
  const Finished first = begin("out", "first", {keep, "schedule.epochs=3", "stage.add.amount=0"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(names("first"),
            (std::vector<std::string>{"epoch-2.safetensors", "epoch-3.safetensors"}));
  const Finished second = begin("first", "second", {"schedule.epochs=5"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(names("second"),
            (std::vector<std::string>{"epoch-2.safetensors", "epoch-5.safetensors"}));
  EXPECT_EQ(
      read_safetensors(here() / "second/checkpoints/epoch-5.safetensors").metadata.at("seam.best"),
      "epoch-2.safetensors");
}

TEST_F(FromRunTest, ABestOfNoHeadlineIsRefusedByCheck) {
  const auto check = [this](const std::string& metric) {
    return seam({"check", "counting.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--set",
                 "schedule.keep={ best = \"" + metric + "\" }"},
                here());
  };
  EXPECT_EQ(check("total.loss").exit_code, 0);
  const Finished refused = check("total.los");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("'keep' cannot rank epochs by 'total.los'"),
                    HasSubstr("did you mean 'total.loss'?"), HasSubstr("total.total, total.loss")));
}

TEST_F(FromRunTest, WhatCannotBeChangedIsNamed) {
  run("out", 2);
  expect_refused("stage.add.use=test.fail", "'stage.add.use' cannot be changed with --from");
  expect_refused("flow.train=numbers -> add -> total", "'flow.train' cannot be changed");
  expect_refused("flow.train=numbers -> add -> total", "weights = \"");
  expect_refused("schedule.before=train", "'schedule.before' cannot be changed");
  expect_refused("schedule.epochs=1", "'schedule.epochs' cannot be 1: 2 epochs are already done");
  expect_refused("stage.add.amount=7", "stage.add.amount would have no effect");
  expect_refused("stage.add.amonut=7", "amonut");
  expect_refused("pipeline.plugins=" + std::string(SEAM_SYSTEM_PLUGINS), "--plugin-path");
}

}  // namespace from_run_test
}  // namespace seam::test
