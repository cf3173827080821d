/// Runs that go on with other parameters: what may be changed, what the record says of it, and that
/// a process killed at any moment leaves a record that is true.
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
namespace resume_changes_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ResumeChangesTest : public ::testing::Test {
 protected:
  ResumeChangesTest() { folder_.write("counting.toml", counting_pipeline(40)); }

  [[nodiscard]] const fs::path& here() const { return folder_.path(); }
  static std::vector<std::string> with(std::vector<std::string> arguments,
                                       const std::vector<std::string>& set) {
    for (const std::string& setting : set) {
      arguments.emplace_back("--set");
      arguments.push_back(setting);
    }
    return arguments;
  }
  /// A run of so many epochs.
  void run(const std::string& directory, int epochs, const std::string& amount = "3") {
    const Finished finished = seam(
        with({"run", "counting.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--run-dir", directory},
             {"schedule.epochs=" + std::to_string(epochs), "stage.add.amount=" + amount}),
        here());
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
  }
  static std::vector<std::string> resuming(const std::string& directory,
                                           const std::vector<std::string>& set) {
    return with({"run", "--resume", directory}, set);
  }
  Finished resume(const std::string& directory, const std::vector<std::string>& set = {}) {
    return seam(resuming(directory, set), here());
  }
  [[nodiscard]] std::string file(const std::string& directory, const std::string& name) const {
    return text_of_file(here() / directory / name);
  }
  void expect_refused(const std::string& setting, const std::string& why) {
    const std::string before = file("out", "resolved.toml");
    const Finished finished = resume("out", {setting});
    EXPECT_EQ(finished.exit_code, 2) << setting << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(why));
    EXPECT_EQ(file("out", "resolved.toml"), before) << setting;
  }

  TemporaryFolder folder_;
};

TEST_F(ResumeChangesTest, AnExtendedRunIsAsOneOfThatLength) {
  run("whole", 4);
  run("out", 2);
  const Finished finished = resume("out", {"schedule.epochs=4"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, AllOf(HasSubstr("resuming after epoch 2 of 4"),
                                  HasSubstr("from epoch 3 on: schedule.epochs = 4 (was 2)"),
                                  Not(HasSubstr("differ"))));
  EXPECT_EQ(file("out", "metrics.jsonl"), file("whole", "metrics.jsonl"));
  EXPECT_EQ(file("out", "score.json"), file("whole", "score.json"));
  EXPECT_THAT(file("out", "resolved.toml"),
              AllOf(HasSubstr("#: epochs_done = 2\n"),
                    HasSubstr("#: key = \"schedule.epochs\"\n#: before = \"2\"\n#: now = \"4\"\n"),
                    HasSubstr("\nepochs = 4\n")));
  EXPECT_THAT(resume("out").err, HasSubstr("nothing left to do"));
}

TEST_F(ResumeChangesTest, WhatChangesNothingLeavesEveryByte) {
  run("out", 2);
  const std::string resolved = file("out", "resolved.toml");
  const std::string metrics = file("out", "metrics.jsonl");
  const Finished finished =
      resume("out", {"schedule.epochs=2", "stage.add.amount=3", "stage.add.use=test.add"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("nothing left to do"));
  EXPECT_EQ(file("out", "resolved.toml"), resolved);
  EXPECT_EQ(file("out", "metrics.jsonl"), metrics);
}

TEST_F(ResumeChangesTest, ListsComparisonsAndReportsSayWhatWasChanged) {
  run("runs/out", 2);
  run("runs/whole", 4);
  ASSERT_EQ(resume("runs/out", {"schedule.epochs=4", "stage.add.amount=5"}).exit_code, 0);
  const std::string change =
      "from epoch 3 on: schedule.epochs = 4 (was 2), stage.add.amount = 5 "
      "(was 3)";
  EXPECT_THAT(seam({"runs"}, here()).out,
              AllOf(HasSubstr("out: resumed with other parameters " + change),
                    HasSubstr("amount=3, then 5 from epoch 3")));
  EXPECT_THAT(seam({"runs", "--json"}, here()).out,
              HasSubstr(R"("parameters":[{"key":"schedule.epochs","before":"2","now":"4"})"));
  const Finished compared = seam({"compare", "runs/out", "runs/whole"}, here());
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr("parameters that were changed when a run was resumed"),
                                  HasSubstr("runs/out: " + change),
                                  HasSubstr("3, then 5 from epoch 3"), Not(HasSubstr("repeats"))));
  EXPECT_THAT(seam({"compare", "runs/out", "--json"}, here()).out,
              HasSubstr(R"("changed_on_resume":[{"run":"runs/out","changes":[{"epoch":2,)"));
  EXPECT_EQ(seam({"report", "runs/out"}, here()).exit_code, 0);
  EXPECT_THAT(file("runs/out", "report.html"), HasSubstr(change));
}

TEST_F(ResumeChangesTest, ARunKilledAfterTheChangeGoesOnWithIt) {
  run("out", 2);
  run("whole", 2);
  const std::vector<std::string> set{"schedule.epochs=4", "stage.add.amount=5"};
  ASSERT_EQ(resume("whole", set).exit_code, 0);
  const Gate gate(here() / "gate");
  Program program(resuming("out", set), here());
  gate.wait_until_reached();  // in the third epoch: the newest checkpoint is older than the change
  program.signal(SIGKILL);
  program.finish();
  gate.remove();
  EXPECT_THAT(file("out", "resolved.toml"), HasSubstr("\namount = 5\n"));

  const Finished finished = resume("out");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, Not(HasSubstr("has changed")));
  EXPECT_EQ(file("out", "metrics.jsonl"), file("whole", "metrics.jsonl"));
  EXPECT_THAT(file("out", "resolved.toml"), HasSubstr("#: epochs_done = 2\n"));
}

TEST_F(ResumeChangesTest, FromTheBeginningItIsARunOfTheNewValues) {
  run("out", 2);
  ASSERT_EQ(resume("out", {"schedule.epochs=4", "stage.add.amount=5"}).exit_code, 0);
  fs::remove_all(here() / "out/checkpoints");
  const Finished finished = resume("out");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("starting from the beginning"));
  EXPECT_THAT(file("out", "resolved.toml"),
              AllOf(HasSubstr("\namount = 5\n"), Not(HasSubstr("[[change]]"))));
}

TEST_F(ResumeChangesTest, TheBestCheckpointIsKeptOverAKill) {
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
  const Gate gate(here() / "gate");
  Program program(
      resuming("out", {keep, "schedule.epochs=5", "stage.add.amount=0", "stage.gate.epoch=3"}),
      here());
  gate.wait_until_reached();
  program.signal(SIGKILL);
  program.finish();
  gate.remove();
  EXPECT_EQ(names("out"), (std::vector<std::string>{"epoch-2.safetensors", "epoch-3.safetensors"}));
  ASSERT_EQ(resume("out").exit_code, 0);
  EXPECT_EQ(names("out"), (std::vector<std::string>{"epoch-2.safetensors", "epoch-5.safetensors"}));
  EXPECT_EQ(
      read_safetensors(here() / "out/checkpoints/epoch-5.safetensors").metadata.at("seam.best"),
      "epoch-2.safetensors");
}

TEST_F(ResumeChangesTest, ABestOfNoHeadlineIsRefusedByCheck) {
  const auto check = [this](const std::string& metric) {
    return seam({"check", "counting.toml", "--plugin-path", SEAM_SYSTEM_PLUGINS, "--set",
                 "schedule.keep={ best = \"" + metric + "\" }"},
                here());
  };
  EXPECT_EQ(check("total.loss").exit_code, 0);
  const Finished refused = check("total.los");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("'keep' cannot judge epochs by 'total.los'"),
                    HasSubstr("did you mean 'total.loss'?"), HasSubstr("total.total, total.loss")));
}

TEST_F(ResumeChangesTest, WhatCannotBeChangedIsNamed) {
  run("out", 2);
  expect_refused("stage.add.use=test.fail",
                 "'stage.add.use' cannot be changed when a run is resumed");
  expect_refused("flow.train=numbers -> add -> total", "'flow.train' cannot be changed");
  expect_refused("flow.train=numbers -> add -> total", "weights = \"");
  expect_refused("schedule.before=train", "'schedule.before' cannot be changed");
  expect_refused("schedule.epochs=1", "'schedule.epochs' cannot be 1: 2 epochs are done");
  expect_refused("stage.add.amount=7", "stage.add.amount would have no effect");
  expect_refused("stage.add.amonut=7", "amonut");
  expect_refused("pipeline.plugins=" + std::string(SEAM_SYSTEM_PLUGINS), "--plugin-path");
}

}  // namespace resume_changes_test
}  // namespace seam::test
