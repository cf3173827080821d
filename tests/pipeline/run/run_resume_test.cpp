#include <algorithm>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/checksum.hpp"
#include "tests/pipeline/run/run_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::run_test {

TEST_F(RunPipelineTest, ACheckpointWithoutAStagesStateIsRefused) {
  add_stage("plain", {}, "train");
  run();
  pipeline_.spec.schedule.epochs = 5;  // otherwise there is nothing left to do
  add_stage("model", {.keeps_state = true}, "train");
  EXPECT_THAT(resume(),
              fails_with(ExitCode::configuration, HasSubstr("no state for stage 'model'")));
}

TEST_F(RunPipelineTest, AStateThatDoesNotFitIsAMatterOfConfiguration) {
  add_stages();
  pipeline_.spec.schedule.epochs = 1;
  run();
  pipeline_.spec.schedule.epochs = 2;
  pipeline_.stages.erase("model");
  pipeline_.spec.stages.pop_back();
  add_stage("model", {.keeps_state = true, .fails_in = "load"}, "");
  EXPECT_THAT(resume(), fails_with(ExitCode::configuration, HasSubstr("loading its saved state")));
}

TEST_F(RunPipelineTest, ARunWithResultsButWithoutItsCheckpointsDoesNotBeginAgain) {
  add_stages();
  run();
  const std::string metrics = file("metrics.jsonl");
  fs::remove_all(folder_.path() / "run/checkpoints");
  EXPECT_THAT(resume(), fails_with(ExitCode::configuration,
                                   HasSubstr("run' has results of 3 epochs, but no checkpoint: "
                                             "restore its checkpoints")));
  EXPECT_THAT(file("summary.json"), HasSubstr(R"("complete":true)"));
  fs::remove(folder_.path() / "run/summary.json");  // as if it had been killed in the last epoch
  EXPECT_THAT(resume(),
              fails_with(ExitCode::configuration, HasSubstr("has results of 2 epochs, but no")));
  EXPECT_EQ(file("metrics.jsonl"), metrics);
}

TEST_F(RunPipelineTest, BeforeItsFirstCheckpointIsDueARunBeginsAgain) {
  add_stages();
  pipeline_.spec.schedule.checkpoint_every.epochs = 3;
  flows_.script = [](const FlowOptions& options, FlowResult& result) {
    if (options.run.epoch == 2) result.error = Error("no flow", Fault::data);
  };
  EXPECT_EQ(run().code, ExitCode::data);
  flows_.script = nullptr;
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("starting from the beginning"));
}

/// train and fill every 2nd epoch, evaluate every epoch: `gallery` is filled by fill and read by
/// evaluate.
class MadeByFlowTest : public RunPipelineTest {
 protected:
  MadeByFlowTest() {
    pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"fill", 2}, {"evaluate", 1}};
    pipeline_.spec.schedule.epochs = 4;
    add_stages();
    add_flow("fill", "gallery", {.keeps_state = true, .kept = Kept::until_next_flow});
    add_flow("evaluate", "search").references = {{"index", "gallery"}};
  }
  [[nodiscard]] bool saved(std::int64_t epochs) const {
    const Checkpoint checkpoint = read_checkpoint(
        folder_.path() / "run/checkpoints" / ("epoch-" + std::to_string(epochs) + ".safetensors"));
    return std::ranges::find(checkpoint.stages, "gallery", &StageState::name) !=
           checkpoint.stages.end();
  }
};

TEST_F(MadeByFlowTest, WhatTheScheduleFillsAgainIsNotSaved) {
  stop_in(3);
  EXPECT_EQ(run().position.epochs_done, 3);
  EXPECT_TRUE(saved(2)) << "epoch 2 does not fill it but reads it";
  EXPECT_FALSE(saved(3));
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_THAT(events_, Not(Contains("load gallery")));
  EXPECT_THAT(events_, Contains("load model (compute)"));
}

TEST_F(MadeByFlowTest, WhatIsReadFirstIsSavedAndLoaded) {
  stop_in(2);
  run();
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_THAT(events_, Contains("load gallery"));
}

TEST_F(MadeByFlowTest, AScheduleThatReadsFirstWhatWasNotSavedIsRefused) {
  stop_in(3);
  run();
  pipeline_.spec.schedule.each_epoch[1].every = 7;
  pipeline_.spec.schedule.epochs = 9;
  EXPECT_THAT(go_on(),
              fails_with(ExitCode::configuration, AllOf(HasSubstr("no state for stage 'gallery'"),
                                                        HasSubstr("restore the schedule"))));
}

TEST_F(RunPipelineTest, AChangedPipelineIsRefusedByKey) {
  add_stages();
  pipeline_.spec.resolved = "[stage.model]\nrate = 1\n[limits]\npackets = 256\n";
  run();
  const std::string resolved = file("resolved.toml");
  const auto change = [&](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    folder_.write("run/resolved.toml", text);
  };
  pipeline_.spec.schedule.epochs = 4;
  change(resolved, "rate = 1", "rate = 2");
  const RunSummary refused = resume();
  EXPECT_EQ(refused.code, ExitCode::configuration);
  EXPECT_THAT(refused.error->full_message(),
              AllOf(HasSubstr("resolved.toml was changed after 'epoch-3.safetensors' was written: "
                              "stage.model.rate = 2 (was 1)"),
                    HasSubstr("seam run --from")));
  change(resolved, "packets = 256", "packets = 64  # changes no result");
  EXPECT_EQ(resume().code, ExitCode::success);
}

/// Runs whose data set lists something.
class ListingTest : public RunPipelineTest {
 protected:
  ListingTest() {
    add_stages();
    add_stage("items", {.listing = 7}, "train");
    run();
    pipeline_.spec.schedule.epochs = 4;
  }
  void list(std::uint64_t digest) {
    pipeline_.stages.at("items") = std::make_unique<StageRunner>(
        "items", "test.stage",
        std::make_unique<Scripted>(
            "items", StageScript{.events = &events_, .place = &place_, .listing = digest}));
  }
};

TEST_F(ListingTest, TheSummaryHasIt) {
  EXPECT_THAT(file("summary.json"), HasSubstr(R"("listings":{"items":"0000000000000007"})"));
}

TEST_F(ListingTest, ACompleteRunWithoutASummaryGetsOneWithIt) {
  pipeline_.spec.schedule.epochs = 3;
  const std::string before = file("summary.json");
  fs::remove(folder_.path() / "run/summary.json");
  EXPECT_EQ(resume().code, ExitCode::success);
  const std::string now = file("summary.json");
  for (const char* part : {R"("listings":{"items":"0000000000000007"})", R"("complete":true)",
                           R"("epochs_done":3)", R"("model.flows":3)"}) {
    EXPECT_THAT(before, HasSubstr(part));
    EXPECT_THAT(now, HasSubstr(part));
  }
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_EQ(file("summary.json"), now);
}

TEST_F(ListingTest, TheSameDataContinues) {
  list(7);
  EXPECT_EQ(resume().code, ExitCode::success);
}

TEST_F(ListingTest, OtherDataIsRefusedByTheNameOfItsStage) {
  list(8);
  EXPECT_THAT(resume(), fails_with(ExitCode::configuration,
                                   HasSubstr("the list of stage 'items' has changed since the run "
                                             "was started; the data of a run must not change")));
}

TEST_F(ListingTest, ACheckpointOfAnEarlierVersionIsComparedFromTheNextOn) {
  const fs::path newest = folder_.path() / "run/checkpoints/epoch-3.safetensors";
  Checkpoint checkpoint = read_checkpoint(newest);
  checkpoint.listings.clear();
  write_checkpoint(newest, checkpoint);
  list(8);
  EXPECT_EQ(resume().code, ExitCode::success);
  pipeline_.spec.schedule.epochs = 5;
  list(9);
  EXPECT_EQ(resume().code, ExitCode::configuration);
}

/// Starts from the run, with 8 as its list.
class FromListingTest : public ListingTest {
 protected:
  FromListingTest() : before_(pipeline_.spec) {
    options_.before = &before_;
    options_.from = folder_.path() / "run";
    options_.run_directory = folder_.path() / "new";
    options_.start = Start::from;
    list(8);
  }

  PipelineSpec before_;
};

TEST_F(FromListingTest, AnotherRunMayContinueWithOtherData) {
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("the list of stage 'items' has changed since the run "
                                         "was started: this run continues with different data"));
}

TEST_F(FromListingTest, ItIsResumedWithItsOwnDataEvenBeforeItsFirstCheckpoint) {
  flows_.script = [](const FlowOptions& /*options*/, FlowResult& result) {
    result.error = Error("no flow", Fault::data);
  };
  EXPECT_EQ(run().code, ExitCode::data);
  flows_.script = nullptr;
  EXPECT_EQ(resume().code, ExitCode::success);
}

TEST_F(ListingTest, AnEvaluationThatIsResumedKeepsItsOwnData) {
  options_.evaluates = {(folder_.path() / "run").string(), "epoch-3.safetensors"};
  options_.run_directory = folder_.path() / "evaluation";
  flows_.script = [](const FlowOptions& options, FlowResult& result) {
    if (options.run.epoch == 2) result.error = Error("no flow", Fault::data);
  };
  list(8);
  EXPECT_EQ(run().code, ExitCode::data);
  EXPECT_THAT(messages_.str(), HasSubstr("the list of stage 'items' has changed since the run was "
                                         "started; the scores may differ"));
  flows_.script = nullptr;
  list(9);
  EXPECT_EQ(resume().code, ExitCode::configuration);
  list(8);
  EXPECT_EQ(resume().code, ExitCode::success);
}

TEST_F(RunPipelineTest, ADefaultThatALaterVersionAddsIsNoChange) {
  add_stages();
  run();
  pipeline_.spec.schedule.epochs = 4;
  pipeline_.spec.resolved += "added = 1  # default\n";
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(file("resolved.toml"), Not(HasSubstr("added"))) << "a run has one pipeline";
}

/// Runs that start from a checkpoint of another run, with a different rate.
class FromRunTest : public RunPipelineTest {
 protected:
  FromRunTest() {
    add_stage("model", {.keeps_state = true}, "train");
    pipeline_.spec.resolved = "[stage.model]\nrate = 1\n";
  }
  void start_from_it() {
    before_ = pipeline_.spec;
    options_.before = &before_;
    options_.from = folder_.path() / "run";
    options_.run_directory = folder_.path() / "new";
    options_.start = Start::from;
  }
  /// Runs the other one first.
  RunSummary begin() {
    EXPECT_EQ(run().code, ExitCode::success);
    start_from_it();
    pipeline_.spec.resolved = "[stage.model]\nrate = 2\n";
    pipeline_.spec.schedule.epochs = 5;
    return run();
  }
  [[nodiscard]] fs::path fresh(const std::string& name) const {
    return folder_.path() / "new" / name;
  }

  PipelineSpec before_;
};

TEST_F(FromRunTest, TheOtherRunStaysAsItIs) {
  const RunSummary summary = begin();
  EXPECT_EQ(summary.code, ExitCode::success);
  EXPECT_EQ(summary.position.epochs_done, 5);
  EXPECT_THAT(file("resolved.toml"), HasSubstr("rate = 1"));
  EXPECT_TRUE(fs::exists(folder_.path() / "run/checkpoints/epoch-3.safetensors"));
  EXPECT_EQ(read_launch(folder_.path() / "new").from,
            (RunOrigin{(folder_.path() / "run").string(), "epoch-3.safetensors",
                       sha256_of_file(folder_.path() / "run/checkpoints/epoch-3.safetensors")}));
  EXPECT_THAT(messages_.str(),
              HasSubstr("starting from run/epoch-3.safetensors: stage.model.rate = 2 (was 1)"));
}

TEST_F(FromRunTest, ItIsResumedLikeAnyOther) {
  flows_.script = [](const FlowOptions& options, FlowResult& result) {
    if (options.run.epoch == 3) result.error = Error("no flow", Fault::data);
  };
  EXPECT_EQ(begin().code, ExitCode::data);
  flows_.script = nullptr;
  options_.run_directory = folder_.path() / "new";
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("resuming after epoch 3 of 5"));
}

TEST_F(FromRunTest, MoreEpochsReadWhatWasFilledBeforeTheFirst) {
  add_flow("fill", "gallery", {.keeps_state = true, .kept = Kept::until_next_flow});
  pipeline_.spec.schedule.before = {"fill"};
  add_stage("search", {}, "train").references = {{"index", "gallery"}};
  EXPECT_EQ(begin().code, ExitCode::success);
  EXPECT_THAT(events_, Contains("load gallery"));
}

TEST_F(FromRunTest, WithoutItsCheckpointsItDoesNotBeginAgain) {
  begin();
  fs::remove_all(fresh("checkpoints"));
  EXPECT_THAT(resume(), fails_with(ExitCode::configuration,
                                   HasSubstr("started from run/epoch-3.safetensors")));
}

TEST_F(FromRunTest, WhatIsRefusedLeavesNoFolder) {
  EXPECT_EQ(run().code, ExitCode::success);
  fs::remove_all(folder_.path() / "run/checkpoints");
  start_from_it();
  EXPECT_THAT(run(),
              fails_with(ExitCode::configuration, HasSubstr("no checkpoint between two epochs")));
  EXPECT_FALSE(fs::exists(folder_.path() / "new"));
}

TEST_F(FromRunTest, AStageOfEvaluationsOnlyMustStay) {
  tune_after_the_epochs();
  EXPECT_THAT(begin(), fails_with(ExitCode::configuration,
                                  HasSubstr("'stage.model.rate' changes how epochs are "
                                            "evaluated")))
      << "flow 'train' has no optimizer";
}

TEST_F(FromRunTest, AStageThatEvaluatesBeforeTheEpochsMustStay) {
  add_stage("adam", {.trains = true}, "train");
  add_flow("evaluate", "recall");
  pipeline_.spec.schedule.before = {"evaluate"};
  pipeline_.spec.schedule.after = {"evaluate"};
  EXPECT_EQ(run().code, ExitCode::success);
  start_from_it();
  pipeline_.spec.resolved += "[stage.recall]\nk = 2\n";
  pipeline_.spec.schedule.epochs = 5;
  EXPECT_THAT(run(), fails_with(ExitCode::configuration,
                                HasSubstr("'stage.recall.k' changes how epochs are evaluated")));
}

TEST_F(FromRunTest, WhatTrainsAfterTheEpochsIsNotGoneOnFrom) {
  add_stage("adam", {.trains = true}, "train");
  tune_after_the_epochs();
  EXPECT_EQ(begin().code, ExitCode::success);
  EXPECT_EQ(read_launch(folder_.path() / "new").from.checkpoint, "epoch-3.safetensors")
      << "not epoch-3-after.safetensors";
}

}  // namespace seam::host::run_test
