#include "pipeline/experiments/run_folder.hpp"

#include "pipeline/experiments/run_list.hpp"
#include "pipeline/run/files.hpp"
#include "seam/error.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::run_folder_test {

using ::testing::Pair;

constexpr const char* resolved = R"(#: seam = "0.1.0"
#: started = "2026-03-01T09:30:00Z"
#: file = "/a/demo.toml"

[pipeline]
name = "demo"
seed = 7
# threads: not set

[stage.items]
use = "dataset.folder"
root = "pictures of $$5"
names = ["a", "b"]

[flow]
train = "items -> model"

[schedule]
epochs = 4
stop_early = { metric = "m.x", patience = 2 }
)";

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolder read(const std::string& name = "run") { return read_run(folder_.path() / name, name); }
  void write_summary(const std::string& what) {
    folder_.write("run/summary.json",
                  R"({"outcome":"data error","epochs_done":2,"epochs":4,"flows":[],)" + what + "}");
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunFolderTest, ParametersAreFlat) {
  const Parameters parameters = read_parameters(folder_.write("resolved.toml", resolved));
  EXPECT_THAT(parameters, ElementsAre(Pair("flow.train", "\"items -> model\""),
                                      Pair("pipeline.name", "\"demo\""), Pair("pipeline.seed", "7"),
                                      Pair("schedule.epochs", "4"),
                                      Pair("schedule.stop_early.metric", "\"m.x\""),
                                      Pair("schedule.stop_early.patience", "2"),
                                      Pair("stage.items.names", "[\"a\", \"b\"]"),
                                      Pair("stage.items.root", "\"pictures of $5\""),
                                      Pair("stage.items.use", "\"dataset.folder\"")));
  EXPECT_EQ(text_parameter(parameters, "stage.items.root"), "pictures of $5");
  EXPECT_EQ(text_parameter(parameters, "pipeline.seed"), "");
  EXPECT_EQ(text_parameter(parameters, "stage.none.use"), "");
  EXPECT_REFUSED(read_parameters(folder_.write("bad.toml", "a = ")), Fault::data, "bad.toml");
}

TEST_F(RunFolderTest, AFolderThatIsNotThereHasNotStarted) {
  EXPECT_EQ(read().state, RunState::missing);
}

TEST_F(RunFolderTest, WithoutASummaryItWasInterrupted) {
  folder_.write("run/resolved.toml", resolved);
  folder_.write("run/lock", "4194304");
  folder_.write("run/checkpoints/epoch-1.safetensors", "");
  folder_.write("run/timing.jsonl", "{\"epoch\":0}\n{\"epoch\":2}\n{\"epo");
  const RunFolder run = read();
  EXPECT_EQ(run.state, RunState::interrupted);
  EXPECT_EQ(run.epochs_done, 2) << "of the third epoch a flow is done";
  EXPECT_EQ(run.epochs, 4);
  EXPECT_EQ(run.started, "2026-03-01T09:30:00Z");
  EXPECT_EQ(run.pipeline, "/a/demo.toml");
}

TEST_F(RunFolderTest, RolesAreThoseThatItRecorded) {
  folder_.write("run/resolved.toml", resolved);
  EXPECT_TRUE(read().roles.is_replicate("stage.items.fold")) << "by name: none are recorded";
  const std::string recorded = "#: [roles]\n#: \"stage.items.part\" = \"replicate\"\n";
  folder_.write("run/resolved.toml", recorded + resolved);
  EXPECT_TRUE(read().roles.is_replicate("stage.items.part"));
  EXPECT_FALSE(read().roles.is_replicate("stage.items.fold"));
}

TEST_F(RunFolderTest, FilesAndTheFirstCheckpointAreKnownByTheirContent) {
  folder_.write("run/resolved.toml",
                std::string("#: [data]\n#: \"stage.items.list\" = \"0123456789abcdef\"\n"
                            "#: [initial]\n#: \"stage.model.weights\" = \"1123456789abcdef\"\n"
                            "#: [from]\n#: run = \"/a/base\"\n#: checkpoint = \"e.safetensors\"\n"
                            "#: sha256 = \"2123456789abcdef\"\n") +
                    resolved);
  const Parameters parameters = read().parameters;
  EXPECT_EQ(parameters.at("stage.items.list (content)"), "0123456789ab");
  EXPECT_EQ(parameters.at("stage.model.weights (content)"), "1123456789ab");
  EXPECT_EQ(parameters.at("from"), "base/e.safetensors");
  EXPECT_EQ(parameters.at("from (content)"), "2123456789ab");
}

TEST_F(RunFolderTest, ALockedFolderIsInUse) {
  folder_.write("run/resolved.toml", resolved);
  EXPECT_FALSE(FolderLock::holder(folder_.path() / "run"));
  {
    const FolderLock lock(folder_.path() / "run");
    EXPECT_EQ(FolderLock::holder(folder_.path() / "run"), std::to_string(::getpid()));
    EXPECT_EQ(read().state, RunState::running);
    EXPECT_THAT(read().note, HasSubstr(std::to_string(::getpid())));
  }
  EXPECT_EQ(read().state, RunState::interrupted);
}

TEST_F(RunFolderTest, TheSummarySaysHowItEnded) {
  folder_.write("run/resolved.toml", resolved);
  write_summary(R"("exit_code":0,"complete":true,"error":"")");
  EXPECT_EQ(read().state, RunState::complete);
  write_summary(R"("exit_code":4,"complete":false,"error":"")");
  EXPECT_EQ(read().state, RunState::stopped);
  EXPECT_EQ(read().epochs_done, 2);
  write_summary(R"("exit_code":3,"complete":false,"error":"the disk is full")");
  EXPECT_EQ(read().state, RunState::failed);
  EXPECT_EQ(read().note, "the disk is full");
  write_summary(R"("exit_code":6,"complete":true,"error":"")");
  EXPECT_EQ(read().state, RunState::failed) << "packets were lost";
  folder_.write("run/timing.jsonl", "{\"epoch\":1}\n");
  folder_.write("run/summary.json",
                R"({"outcome":"crashed","exit_code":139,"complete":false,"stage":"sharpen",)"
                R"("error":"segmentation fault in stage 'sharpen'","flows":[]})");
  EXPECT_EQ(read().state, RunState::failed);
  EXPECT_EQ(read().note, "crashed: segmentation fault in stage 'sharpen'");
  EXPECT_EQ(read().epochs_done, 1) << "as the other files say";
  folder_.write("run/summary.json", "{");
  EXPECT_REFUSED(read(), Fault::data, "summary.json' is not the summary of a run");
}

TEST_F(RunFolderTest, TheListsOfItsDataSetsAreInItsSummary) {
  folder_.write("run/resolved.toml", resolved);
  write_summary(R"("exit_code":0,"complete":true,"error":"")");
  EXPECT_EQ(read().listings, std::nullopt) << "of an earlier version";
  write_summary(R"("exit_code":0,"complete":true,"error":"","listings":{"items":"1f"})");
  EXPECT_EQ(read().listings, (Listings{{"items", 31}}));
}

TEST_F(RunFolderTest, TheNumberOfSkippedPacketsIsInItsSummary) {
  folder_.write("run/resolved.toml", resolved);
  write_summary(R"("exit_code":0,"complete":true,"error":"","skipped_packets":3)");
  EXPECT_EQ(read().skipped_packets, 3U);
}

TEST_F(RunFolderTest, AListHasRunsByTheirStart) {
  folder_.write("later/resolved.toml",
                "#: started = \"2026-03-02T00:00:00Z\"\n[pipeline]\nseed = 1\n");
  folder_.write("sooner/resolved.toml",
                "#: started = \"2026-03-01T00:00:00Z\"\n[pipeline]\nseed = 2\n");
  folder_.write("broken/resolved.toml", "[pipeline\n");
  folder_.write("other/notes.txt", "");
  const std::vector<RunFolder> runs = find_runs(folder_.path());
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].name, "broken");
  EXPECT_EQ(runs[0].state, RunState::failed);
  EXPECT_THAT(runs[0].note, HasSubstr("resolved.toml"));
  EXPECT_EQ(runs[1].name, "sooner");
  EXPECT_EQ(runs[2].name, "later");
  const std::vector<Parameters> changed = changed_parameters(runs);
  EXPECT_THAT(changed[0], IsEmpty());
  EXPECT_THAT(changed[1], ElementsAre(Pair("pipeline.seed", "2")));
  EXPECT_REFUSED(find_runs(folder_.path() / "none"), Fault::configuration, "there is no folder '");
}

TEST_F(RunFolderTest, AScoreFromBeforeTheEpochsIsShownOnlyOfACompleteRun) {
  folder_.write("run/resolved.toml", resolved);
  folder_.write("run/metrics.jsonl",
                R"({"epoch":0,"flow":"test","stage":"recall","name":"r@1","step":0,"value":0.25,)"
                R"("when":"before"})"
                "\n");
  write_summary(R"("complete":true,"exit_code":0)");
  ASSERT_TRUE(shown_score(read(), "recall.r@1").has_value());
  EXPECT_EQ(shown_score(read(), "recall.r@1")->value.value, 0.25);
  write_summary(R"("complete":false,"exit_code":4)");
  EXPECT_FALSE(shown_score(read(), "recall.r@1").has_value()) << "of the untrained network";
}

TEST(ChangedParameters, AreThoseOfOnePipelineFileThatCanMatter) {
  std::vector<RunFolder> runs(3);
  runs[0].pipeline = runs[1].pipeline = "/a.toml";
  runs[2].pipeline = "/b.toml";
  runs[0].parameters = {{"stage.a.x", "1"}, {"stage.a.y", "1"}, {"pipeline.name", "\"p\""}};
  runs[1].parameters = {{"stage.a.x", "1"}, {"stage.a.z", "2"}, {"pipeline.name", "\"q\""}};
  runs[2].parameters = {{"stage.a.x", "9"}};
  for (RunFolder& run : runs) run.state = RunState::complete;
  const std::vector<Parameters> changed = changed_parameters(runs);
  EXPECT_THAT(changed[0], ElementsAre(Pair("stage.a.y", "1"), Pair("stage.a.z", "not set")));
  EXPECT_THAT(changed[1], ElementsAre(Pair("stage.a.y", "not set"), Pair("stage.a.z", "2")));
  EXPECT_THAT(changed[2], IsEmpty());
  EXPECT_EQ(settings_text({{"stage.a.y", "1"}, {"stage.b.y", "2"}, {"stage.a.z", "3"}}),
            "stage.a.y=1 z=3 stage.b.y=2");
}

TEST(ChangedParameters, VariantsStandForWhatTheyDecide) {
  RunFolder first;
  first.state = RunState::complete;
  first.parameters = {{"variant", "a"},
                      {"chosen.variants", "\"a\""},
                      {"chosen.decides", "\"stage.loss\""},
                      {"stage.loss.use", "\"loss.a\""}};
  RunFolder second = first;
  second.parameters["variant"] = "b";
  second.parameters["stage.loss.use"] = "\"loss.b\"";
  RunFolder missing;
  missing.parameters = {{"variant", "c"}};
  const auto changed = changed_parameters({first, second, missing});
  EXPECT_THAT(changed[0], ElementsAre(Pair("variant", "a")));
  EXPECT_THAT(changed[1], ElementsAre(Pair("variant", "b")));
  EXPECT_THAT(changed[2], ElementsAre(Pair("variant", "c")));
}

}  // namespace seam::host::run_folder_test
