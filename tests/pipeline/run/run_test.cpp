#include "pipeline/run/run.hpp"

#include <chrono>
#include <fstream>
#include <optional>

#include "pipeline/run/checkpoint.hpp"
#include "tests/pipeline/run/full_disk.hpp"
#include "tests/pipeline/run/run_fixture.hpp"
#include "tests/sdk/echo_ranks.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::run_test {

using seam::test::FullDisk;

TEST_F(RunPipelineTest, OpensRunsSavesAndClosesEachWhereItBelongs) {
  add_stages();
  pipeline_.spec.schedule.epochs = 2;
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::success);
  EXPECT_TRUE(summary.complete);
  // Before a flow that does not train but may change a state, in case it is stopped.
  EXPECT_THAT(events_, ElementsAre("open plain", "open model (compute)", "save model (compute)",
                                   "flow train 0", "save model (compute)", "save model (compute)",
                                   "flow train 1", "save model (compute)", "close model (compute)",
                                   "close plain"));
}

TEST_F(RunPipelineTest, AStageIsOpenedAfterThoseItRefersTo) {
  add_stage("search", {}, "train").references = {{"index", "index"}};
  add_stage("index", {}, "").references = {{"source", "source"}};
  add_stage("source", {}, "");
  add_stage("unused", {}, "");
  pipeline_.spec.schedule.epochs = 1;
  run();
  EXPECT_THAT(events_, ElementsAre("open source", "open index", "open search", "flow train 0",
                                   "close search", "close index", "close source"));
}

TEST_F(RunPipelineTest, TellsTheFlowsWhatTheyNeed) {
  add_stages();
  pipeline_.spec.seed = 99;
  pipeline_.spec.limits.packets = 5;
  run();
  const FlowOptions& options = flows_.last_options;
  EXPECT_EQ(options.run.seed, 99U);
  EXPECT_EQ(options.run.epoch, 2);
  EXPECT_EQ(options.run.flow, "train");
  EXPECT_EQ(options.run.compute_threads, 7);
  EXPECT_EQ(options.run.run_directory, folder_.path() / "run");
  EXPECT_EQ(options.limits.packets, 5);
  EXPECT_EQ(options.stop, &stop_);
  EXPECT_TRUE(options.stage_specs.contains("model"));
}

/// Changes the value of the term `name` in the other rank's terms.
std::function<std::string(std::string)> with_other(const std::string& name) {
  return [name](std::string terms) {
    const std::size_t at = terms.find(name + "\",\"");
    if (at != std::string::npos) terms.insert(at + name.size() + 3, "other-");
    return terms;
  };
}

TEST_F(RunPipelineTest, RanksWithOtherStatesDoNotBegin) {
  add_stages();
  seam::testing::EchoRanks ranks;
  options_.ranks = &ranks;
  ranks.other = with_other("SHA-256 of the state of stage 'model'");
  EXPECT_THAT(run(), fails_with(ExitCode::configuration,
                                HasSubstr("\nSHA-256 of the state of stage 'model': ")));
  EXPECT_THAT(events_, Not(Contains("flow train 0")));
}

TEST_F(RunPipelineTest, RanksRenameADamagedCheckpointWhenAllHaveReadThem) {
  add_stages();
  stop_in(2);
  run();
  const fs::path newest = folder_.path() / "run/checkpoints/epoch-2.safetensors";
  ASSERT_TRUE(fs::exists(newest));
  std::ofstream(newest) << "damaged";
  seam::testing::EchoRanks ranks;
  options_.ranks = &ranks;
  ranks.other = with_other("the newest checkpoint");
  EXPECT_THAT(go_on(), fails_with(ExitCode::configuration,
                                  HasSubstr("the newest checkpoint: epoch-1.safetensors on rank 0, "
                                            "other-epoch-1.safetensors on rank 1")));
  ranks.other = with_other("SHA-256 of the newest checkpoint");
  EXPECT_THAT(go_on(), fails_with(ExitCode::configuration,
                                  HasSubstr("\nSHA-256 of the newest checkpoint: ")));
  EXPECT_TRUE(fs::exists(newest));
  seam::testing::EchoRanks again;
  options_.ranks = &again;
  EXPECT_EQ(go_on().code, ExitCode::success);
}

TEST_F(RunPipelineTest, RanksKeepWhatAFlowTrainedBeforeOneThatTheyCannotStop) {
  add_stage("adam", {.keeps_state = true, .trains = true}, "train");
  for (const char* flow : {"gallery", "evaluate"}) add_flow(flow, flow);
  pipeline_.spec.schedule.epochs = 1;
  pipeline_.spec.schedule.each_epoch = {
      {"gallery", 1}, {"train", 1}, {"gallery", 1}, {"evaluate", 1}};
  seam::testing::EchoRanks ranks;
  options_.ranks = &ranks;
  run();
  EXPECT_THAT(events_, ElementsAre("open gallery", "open adam", "open evaluate", "save adam",
                                   "flow gallery 0", "flow train 0", "save adam", "flow gallery 0",
                                   "flow evaluate 0", "save adam", "close evaluate", "close adam",
                                   "close gallery"));
}

TEST_F(RunPipelineTest, AFailedFlowEndsTheRunAndClosesTheStages) {
  add_stages();
  flows_.script = [](const FlowOptions& options, FlowResult& result) {
    if (options.run.epoch == 1) result.error = Error("broken", Fault::internal);
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::internal);
  EXPECT_EQ(summary.position.epochs_done, 1);
  EXPECT_THAT(summary.error->full_message(), HasSubstr("running flow 'train' in epoch 2 of 3"));
  EXPECT_EQ(events_.back(), "close plain");
  EXPECT_THAT(file("summary.json"), HasSubstr("\"outcome\":\"internal error\""));
  EXPECT_THAT(file("run.log"), HasSubstr("broken"));
}

TEST_F(RunPipelineTest, AStagesErrorIsToldBeforeThatOfTheDiskItIsRecordedOn) {
  add_stages();
  std::optional<FullDisk> disk;
  flows_.script = [&](const FlowOptions& /*options*/, FlowResult& result) {
    disk.emplace();
    result.error = Error("broken", Fault::internal);
  };
  const RunSummary summary = run();
  disk.reset();
  EXPECT_EQ(summary.code, ExitCode::internal);
  EXPECT_THAT(summary.error->full_message(), HasSubstr("broken"));
  EXPECT_THAT(messages_.str(),
              AllOf(HasSubstr("the metrics and logs of flow 'train' are incomplete"),
                    HasSubstr("metrics.jsonl': File too large"),
                    HasSubstr("summary.json.part': File too large")));
}

TEST_F(RunPipelineTest, ADiskThatIsFullEndsARunInWhichNothingElseFailed) {
  add_stages();
  std::optional<FullDisk> disk;
  flows_.script = [&](const FlowOptions& /*options*/, FlowResult& result) {
    disk.emplace();
    result.skipped = 2;
  };
  const RunSummary summary = run();
  disk.reset();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_THAT(summary.error->full_message(),
              AllOf(HasSubstr("metrics.jsonl': File too large"),
                    HasSubstr("recording flow 'train' in epoch 1 of 3")));
  EXPECT_EQ(summary.skipped_packets, 2U);
}

TEST_F(RunPipelineTest, AFullDiskIsNoDefectWhereAReportsFolderCannotBeMade) {
  add_stages();
  flows_.script = [this](const FlowOptions& options, FlowResult& /*result*/) {
    folder_.write("run/reports", "in the way");
    options.run.services->report("judge", "A table", "text");
  };
  EXPECT_EQ(run().code, ExitCode::data);
}

TEST_F(RunPipelineTest, AnEngineThatThrowsIsADefect) {
  add_stages();
  flows_.script = [](const FlowOptions& /*options*/, FlowResult& /*result*/) {
    throw std::logic_error("engine");
  };
  EXPECT_EQ(run().code, ExitCode::internal);
  EXPECT_EQ(events_.back(), "close plain");
}

TEST_F(RunPipelineTest, AStageThatCannotOpenClosesThoseThatAreOpen) {
  add_stage("first", {}, "train");
  add_stage("second", {.fails_in = "open"}, "train");
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_THAT(events_, ElementsAre("open first", "open second", "close first"));
}

TEST_F(RunPipelineTest, AStageThatCannotSaveEndsTheRun) {
  add_stage("model", {.keeps_state = true, .fails_in = "save"}, "train");
  EXPECT_THAT(run(), fails_with(ExitCode::data, HasSubstr("stage 'model'")));
}

TEST_F(RunPipelineTest, AStageThatCannotCloseIsTheRunsFaultAtTheEnd) {
  add_stage("model", {.fails_in = "close"}, "train");
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_TRUE(summary.complete);
}

TEST_F(RunPipelineTest, TheDisplayLearnsWhenTheRunEndsFromTheLastEpochsTime) {
  add_stages();
  add_flow("judge", "judge");
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"judge", 1}};
  pipeline_.spec.schedule.epochs = 4;
  std::chrono::steady_clock::time_point now;
  options_.now = [&now] { return now; };
  std::vector<std::optional<double>> left;
  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    left.push_back(display_.now().run_seconds_left);
    const bool slow = options.run.epoch == 1;  // epochs of 90, 180, 90 and 90 seconds
    now += std::chrono::seconds((options.run.flow == "train" ? 60 : 30) * (slow ? 2 : 1));
  };
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(left, ElementsAre(std::nullopt, std::nullopt,  // no estimate yet
                                3 * 90, 2 * 90 + 0,          // judge: the epoch's 90 s are over
                                2 * 180, 180 + 120,          //
                                90, 30));
}

TEST_F(RunPipelineTest, AFlowThatDoesNotTrainIsDoneAgainAfterThoseBeforeIt) {
  add_stage("model", {.keeps_state = true}, "train");
  add_flow("judge", "counter", {.keeps_state = true});
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"judge", 1}};
  stop_in(1, "judge");
  EXPECT_EQ(run().code, ExitCode::cancelled);
  EXPECT_TRUE(fs::exists(folder_.path() / "run/checkpoints/epoch-1-flow-1.safetensors"));
  EXPECT_THAT(messages_.str(), HasSubstr("in epoch 2 of 3, after 1 of its flows"));
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_THAT(events_, Contains("flow judge 1"));
  EXPECT_THAT(events_, Not(Contains("flow train 1")));
  // The state counts the flows: the one that was stopped must not count twice.
  const std::string flows = R"("flow":"judge","stage":"counter","name":"flows","step":0,"value":)";
  EXPECT_THAT(file("metrics.jsonl"), AllOf(HasSubstr(R"("epoch":1,)" + flows + "2}"),
                                           HasSubstr(R"("epoch":2,)" + flows + "3}")));
}

TEST_F(RunPipelineTest, AStageThatEndsItselfOnRequestIsNoFailure) {
  add_stages();
  flows_.script = [this](const FlowOptions& /*options*/, FlowResult& result) {
    stop_.soon = true;
    result.error = Error("stopped in the middle", Fault::cancelled);
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::cancelled);
  EXPECT_FALSE(summary.error);
}

TEST_F(RunPipelineTest, FlowsAfterTheEpochsLeaveTheLastEpochsCheckpoint) {
  add_stage("model", {.keeps_state = true}, "train");
  tune_after_the_epochs();
  EXPECT_EQ(run().code, ExitCode::success);
  const fs::path checkpoints = folder_.path() / "run/checkpoints";
  EXPECT_EQ(read_checkpoint(checkpoints / "epoch-3.safetensors").trainings, 0);
  EXPECT_EQ(read_checkpoint(checkpoints / "epoch-3-after.safetensors").trainings, 1);
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("nothing left to do"));
}

TEST_F(RunPipelineTest, StagesAndTheRunsFolderLearnWhereAndInWhatItComputes) {
  add_stages();
  options_.numerics = {"cuda:1", Precision::bfloat16, false};
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_EQ(flows_.last_options.run.device, "cuda:1");
  EXPECT_EQ(flows_.last_options.run.precision, Precision::bfloat16);
  EXPECT_FALSE(flows_.last_options.run.deterministic);
  EXPECT_THAT(file("summary.json"),
              HasSubstr(R"("device":"cuda:1","precision":"bfloat16","deterministic":false)"));
  EXPECT_THAT(messages_.str(), HasSubstr("computing on cuda:1 in bfloat16, not deterministic"));
}

TEST_F(RunPipelineTest, AResumeOnAnotherDeviceIsWarnedOfByName) {
  add_stages();
  run();
  pipeline_.spec.schedule.epochs = 4;
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), Not(HasSubstr("the checkpoint was computed")));
  pipeline_.spec.schedule.epochs = 5;
  options_.numerics.device = "cuda:0";
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("the checkpoint was computed on cpu in float32, and the "
                                         "run continues on cuda:0 in float32"));
}

TEST_F(RunPipelineTest, SkippedPacketsCountOverTheWholeRun) {
  add_stages();
  pipeline_.spec.max_errors = 7;
  flows_.script = [](const FlowOptions& /*options*/, FlowResult& result) {
    result.skipped = 3;
    result.failures = {{"plain", "a.jpg", "ends early"}, {"plain", "b.jpg", "ends early"}};
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::success);
  EXPECT_EQ(summary.skipped_packets, 9U);
  EXPECT_EQ(flows_.last_options.max_errors, 1) << "the rest, for the third flow";
  const std::string skipped = file("skipped.jsonl");
  EXPECT_LT(skipped.find("a.jpg"), skipped.find("b.jpg"));
  EXPECT_THAT(skipped, HasSubstr("\"not_listed\":1}")) << "failures beyond the list are counted";
}

TEST_F(RunPipelineTest, ThePacketThatEndsARunIsNotSkipped) {
  add_stages();
  flows_.script = [](const FlowOptions& /*options*/, FlowResult& result) {
    StageCount count;
    count.stage = "plain";
    count.failed = 1;
    result.stages = {count};
    result.error = Error("ends early", Fault::data);
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_EQ(summary.skipped_packets, 0U);
  EXPECT_EQ(file("skipped.jsonl"), "");
}

TEST_F(RunPipelineTest, ReportsOfFlowsOutsideTheEpochsKeepTheirOwnNames) {
  add_stages();
  pipeline_.spec.schedule.before = {"train"};
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"train", 1}};
  pipeline_.spec.schedule.after = {"train"};
  pipeline_.spec.schedule.epochs = 1;
  flows_.script = [](const FlowOptions& options, FlowResult& /*result*/) {
    options.run.services->report("some_recall", "Recall@K", "a table");
  };
  run();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "run/reports")) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, UnorderedElementsAre("before-train-some_recall-recall-k.md",
                                          "epoch-0000-train-some_recall-recall-k.md",
                                          "epoch-0000-train-some_recall-recall-k-2.md",
                                          "after-train-some_recall-recall-k.md"));
  EXPECT_THAT(file("metrics.jsonl"),
              AllOf(HasSubstr("\"when\":\"before\""), HasSubstr("\"when\":\"after\"")));
}

TEST_F(RunPipelineTest, CountsTrainingsAndKeepsMeansOverAResume) {
  add_stage("trainer", {.trains = true}, "train");
  add_flow("evaluate", "judge");
  pipeline_.spec.schedule.before = {"evaluate"};
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"evaluate", 1}};
  std::vector<std::int64_t> trainings;
  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    if (options.run.flow != "evaluate") return;
    trainings.push_back(options.run.trainings);
    if (options.run.epoch == 1) throw Error("the power fails");
    options.run.services->metric("judge", "only_at_" + std::to_string(trainings.size()), 1);
  };
  EXPECT_NE(run().code, ExitCode::success);
  EXPECT_THAT(trainings, ElementsAre(0, 1, 2));

  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    if (options.run.flow == "evaluate") trainings.push_back(options.run.trainings);
  };
  const RunSummary resumed = resume();
  EXPECT_EQ(resumed.code, ExitCode::success);
  EXPECT_THAT(trainings, ElementsAre(0, 1, 2, 2, 3));
  EXPECT_TRUE(resumed.metrics.contains("judge.only_at_1")) << "from `before`, in the first process";
}

TEST_F(RunPipelineTest, AFlowsLineLeavesDetailsOfItsMetricsOut) {
  pipeline_.spec.flows.front().nodes.clear();
  add_stage("judge", {}, "train");
  flows_.script = [](const FlowOptions& options, FlowResult& /*result*/) {
    for (const char* name : {"r@1", "r@1.optimistic", "r@1.pessimistic", "r@10"}) {
      options.run.services->metric("judge", name, 0.5);
    }
  };
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("judge.r@1 0.5, judge.r@10 0.5\n"));
}

/// Of an evaluation, they are about images that the other batches have.
TEST_F(RunPipelineTest, WarningsOfATrialsEvaluationAreOnlyInTheLog) {
  add_stages();
  pipeline_.spec.schedule.epochs = 1;
  tune_after_the_epochs();
  flows_.script = [](const FlowOptions& options, FlowResult& /*result*/) {
    options.run.services->log(LogLevel::warning, "judge", "in flow " + options.run.flow);
  };
  options_.extent = Extent::first_batch;
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), AllOf(HasSubstr("warning: judge: in flow tune"),
                                     ::testing::Not(HasSubstr("in flow train"))));
  EXPECT_THAT(file("run.log"), HasSubstr("[judge] in flow train"));
  options_.extent = Extent::whole;
  options_.run_directory = folder_.path() / "whole";
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("warning: judge: in flow train"));
}

TEST_F(RunPipelineTest, ARequestBeforeTheFirstFlowOpensNothingMore) {
  add_stages();
  stop_.soon = true;
  EXPECT_EQ(run().code, ExitCode::cancelled);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(RunPipelineTest, AnInterruptedRunWithoutCheckpointSaysThatItBeginsAgain) {
  add_stages();
  stop_in(0);
  EXPECT_EQ(run().code, ExitCode::cancelled);
  EXPECT_THAT(messages_.str(), HasSubstr("there is no checkpoint yet"));
}

TEST_F(RunPipelineTest, AFolderInUseLeavesNoTrace) {
  add_stages();
  folder_.write("run/thesis.tex", "x");
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::configuration);
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_FALSE(fs::exists(folder_.path() / "run/summary.json"));
}

}  // namespace seam::host::run_test
