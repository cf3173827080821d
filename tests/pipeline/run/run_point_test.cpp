#include <chrono>

#include "tests/pipeline/run/run_fixture.hpp"
#include "tests/sdk/echo_ranks.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::run_test {

/// A training flow `train`: `plain`, which skips packets after a resume, and `model`.
class PointTest : public RunPipelineTest {
 protected:
  PointTest() {
    add_stage("plain", {}, "train");
    add_stage("model", {.on_compute = true, .keeps_state = true, .trains = true}, "train");
  }
  /// In epoch 1 two steps are done, and the run is asked to stop.
  void stop_within_epoch_1() {
    flows_.script = [this](const FlowOptions& options, FlowResult& result) {
      if (options.run.epoch != 1) return;
      options.run.services->metric("model", "loss", 1.5);
      options.run.services->metric("model", "loss", 2.5);
      stop_.soon = true;
      result.cancelled = true;
      said_ = options.keeper->keep(point_, {passed_over_, {"model"}});
      if (!said_.empty()) options.keeper->cannot_keep(said_);
    };
  }
  RunSummary go_on() {
    stop_.soon = false;
    flows_.script = [this](const FlowOptions& options, FlowResult& /*result*/) {
      if (options.run.epoch != 1) return;
      from_ = options.from;
      options.keeper->going_on({passed_over_, {"model"}});
      options.run.services->metric("model", "loss", 3.5);
    };
    return resume();
  }

  FlowPoint point_{2, 6, 1, {{"plain", "a.jpg", "no picture", Fault::data}}};
  FlowPoint from_;
  std::vector<std::string> passed_over_;
  std::string said_;
};

TEST_F(PointTest, ARunGoesOnWithinAFlow) {
  stop_within_epoch_1();
  const RunSummary stopped = run();
  EXPECT_EQ(stopped.code, ExitCode::cancelled);
  EXPECT_EQ(stopped.steps_done, 2U);
  EXPECT_THAT(messages_.str(),
              HasSubstr("in epoch 2 of 3, after step 2 of flow 'train'; the newest "
                        "checkpoint is epoch-1-step-2.safetensors"));
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_EQ(from_, point_);
  EXPECT_EQ(flows_.last_options.run.epoch, 2);
  EXPECT_EQ(flows_.last_options.from, FlowPoint()) << "the next flow begins at its start";
  const std::string loss = R"({"epoch":1,"flow":"train","stage":"model","name":"loss","step":)";
  EXPECT_THAT(file("metrics.jsonl"),
              AllOf(HasSubstr(loss + "0,\"value\":1.5}"), HasSubstr(loss + "1,\"value\":2.5}"),
                    HasSubstr(loss + "2,\"value\":3.5}"), Not(HasSubstr(loss + "3"))));
  EXPECT_THAT(file("metrics.jsonl"), Not(HasSubstr(R"("name":"flows","step":1)")))
      << "values that a stage records when it begins are in the checkpoint";
}

TEST_F(PointTest, OfAllRanksTheFirstOneWritesIt) {
  for (const int rank : {0, 1}) {
    seam::testing::EchoRanks ranks(rank);
    options_.ranks = &ranks;
    options_.stop = nullptr;
    options_.run_directory = folder_.path() / ("rank-" + std::to_string(rank));
    stop_within_epoch_1();
    const RunSummary stopped = run();
    EXPECT_EQ(stopped.code, ExitCode::cancelled);
    EXPECT_EQ(stopped.steps_done, 2U);
    EXPECT_EQ(fs::exists(options_.run_directory / "checkpoints/epoch-1-step-2.safetensors"),
              rank == 0);
  }
}

TEST_F(PointTest, MetricsOfTheTailAloneAreLeftOutAndNamed) {
  stop_within_epoch_1();
  passed_over_ = {"quiet"};  // which records at the end of a flow
  run();
  ASSERT_EQ(said_, "");
  stop_.soon = false;
  flows_.script = [this](const FlowOptions& options, FlowResult& /*result*/) {
    if (options.run.epoch == 1) options.keeper->going_on({passed_over_, {"model"}});
    options.run.services->metric("quiet", "seen", 7);
  };
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("the metrics of stage 'quiet' in flow 'train' are omitted "
                                         "this time"));
  EXPECT_THAT(file("metrics.jsonl"),
              Not(HasSubstr(R"({"epoch":1,"flow":"train","stage":"quiet")")));
}

TEST_F(PointTest, MetricsOfPacketsThatWouldNotComeAgainStandInTheWay) {
  stop_within_epoch_1();
  passed_over_ = {"plain"};  // which records how many flows it began
  run();
  EXPECT_THAT(said_, HasSubstr("stage 'plain' records metrics"));
  EXPECT_THAT(messages_.str(), AllOf(HasSubstr("the work of flow 'train' since the last "
                                               "checkpoint is lost and will be repeated: stage "
                                               "'plain' records"),
                                     HasSubstr("the newest checkpoint is epoch-1.safetensors")));
}

TEST_F(PointTest, AShareOfErrorsIsJudgedOverAWholeFlow) {
  pipeline_.spec.max_error_share = 0.5;
  stop_within_epoch_1();
  run();
  EXPECT_THAT(said_, HasSubstr("max_errors"));
}

TEST_F(PointTest, OfAnotherScheduleItIsRefused) {
  stop_within_epoch_1();
  run();
  pipeline_.spec.flows.front().name = "fit";
  pipeline_.spec.schedule.each_epoch = {{"fit", 1}};
  EXPECT_THAT(go_on(),
              fails_with(ExitCode::configuration,
                         HasSubstr("within flow 'train', but at this point the schedule in "
                                   "resolved.toml runs flow 'fit'")));
}

TEST_F(PointTest, AStopBeforeTheFlowGoesOnLeavesItsPoint) {
  pipeline_.spec.schedule.before = {"train"};
  pipeline_.spec.schedule.each_epoch = {{"train", 1}};
  flows_.script = [this](const FlowOptions& options, FlowResult& result) {
    options.run.services->metric("model", "loss", 1.5);
    stop_.soon = true;
    result.cancelled = true;
    said_ = options.keeper->keep(point_, {passed_over_, {"model"}});
  };
  run();
  const std::string kept = file("checkpoints/epoch-0-step-2.safetensors");
  EXPECT_EQ(resume().code, ExitCode::cancelled) << "stop_.soon is still set";
  EXPECT_EQ(file("checkpoints/epoch-0-step-2.safetensors"), kept);
}

TEST_F(PointTest, AreWantedAfterEveryNStepsOrMinutesSinceTheLastCheckpoint) {
  std::chrono::steady_clock::time_point now;
  options_.now = [&now] { return now; };
  pipeline_.spec.schedule.epochs = 1;
  std::vector<std::uint64_t> wanted;
  std::uint64_t not_ready = 0;  // no stage is ready then: due until one is kept
  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    for (std::uint64_t steps = 1; steps <= 9; ++steps) {
      now += std::chrono::minutes(1);
      if (!options.keeper->wants_point(steps)) continue;
      wanted.push_back(steps);
      if (steps == not_ready) continue;
      EXPECT_EQ(options.keeper->keep({steps, 9, 0, {}}, {{}, {"model"}}), "");
    }
  };
  CheckpointEvery& every = pipeline_.spec.schedule.checkpoint_every;
  every.steps = 3;
  not_ready = 3;
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(wanted, ElementsAre(3, 4, 6, 9));
  EXPECT_FALSE(fs::exists(folder_.path() / "run/checkpoints/epoch-0-step-9.safetensors"))
      << "checkpoints within an epoch are removed at its end";
  wanted.clear();
  every.steps.reset();
  every.minutes = 2;
  not_ready = 4;  // the checkpoint after 5 is the last one then
  options_.run_directory = folder_.path() / "other";
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(wanted, ElementsAre(2, 4, 5, 7, 9));
}

}  // namespace seam::host::run_test
