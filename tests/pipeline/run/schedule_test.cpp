#include "pipeline/run/schedule.hpp"

#include <cmath>
#include <limits>

#include "seam/error.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::schedule_test {

/// Records the steps that it should execute.
class Script final : public ScheduleSteps {
 public:
  ScheduleEnd run(const ScheduleSpec& schedule) { return run_schedule(schedule, position, *this); }
  FlowEnd run_flow(const std::string& flow, std::int64_t epoch) override {
    done.push_back(flow + "@" + std::to_string(epoch));
    if (done.back() == stop_in) return FlowEnd::stopped;
    if (done.back() == stop_after) stop = true;
    if (done.back() == fail_in) throw Error(fail_in + " failed");
    return FlowEnd::complete;
  }
  [[nodiscard]] bool flow_trains(const std::string& flow) const override {
    return flow.starts_with("train");
  }
  [[nodiscard]] bool stop_requested() const override { return stop; }
  [[nodiscard]] bool wants_checkpoint_before(const std::string& flow) const override {
    return flow == kept_before;
  }
  [[nodiscard]] std::optional<double> metric(const std::string& name) const override {
    if (name != metric_name || current >= static_cast<std::int64_t>(values.size())) {
      return std::nullopt;
    }
    return values[static_cast<std::size_t>(current)];
  }
  [[nodiscard]] std::vector<std::string> metric_names() const override {
    return {"recall.r@1", "loss.loss"};
  }
  void epoch_begins(std::int64_t epoch) override { current = epoch; }
  void epoch_ended(const SchedulePosition& /*position*/) override {}
  void checkpoint(const SchedulePosition& position) override {
    done.push_back("checkpoint " + std::to_string(position.epochs_done));
    last = position;
  }

  std::vector<std::string> done;
  std::string kept_before;
  std::string stop_in;
  std::string stop_after;
  std::string fail_in;
  bool stop = false;
  std::string metric_name = "recall.r@1";
  std::vector<std::optional<double>> values;  // by epoch
  std::int64_t current = 0;
  SchedulePosition last;      // at a checkpoint
  SchedulePosition position;  // of run()
};

ScheduleSpec two_flows(std::int64_t epochs) {
  ScheduleSpec schedule;
  schedule.epochs = epochs;
  schedule.each_epoch = {{"train", 1}, {"evaluate", 1}};
  return schedule;
}

TEST(Schedule, RunsEveryFlowOfEveryEpochInOrder) {
  ScheduleSpec schedule = two_flows(2);
  schedule.before = {"prepare"};
  schedule.after = {"report"};
  Script script;
  SchedulePosition position;
  EXPECT_EQ(run_schedule(schedule, position, script), ScheduleEnd::complete);
  EXPECT_THAT(script.done,
              ElementsAre("prepare@0", "checkpoint 0", "train@0", "evaluate@0", "checkpoint 1",
                          "train@1", "evaluate@1", "checkpoint 2", "report@1", "checkpoint 2"));
  EXPECT_TRUE(is_complete(schedule, position));
  Script again;
  EXPECT_EQ(run_schedule(schedule, position, again), ScheduleEnd::complete);
  EXPECT_THAT(again.done, IsEmpty()) << "nothing is left to do";
}

TEST(Schedule, EveryNthEpochAndTheLast) {
  ScheduleSpec schedule = two_flows(8);
  schedule.each_epoch[1].every = 3;
  for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
    const bool due = epoch == 2 || epoch == 5 || epoch == 7;
    EXPECT_EQ(flows_of_epoch(schedule, epoch).size(), due ? 2U : 1U) << epoch;
  }
}

TEST(Schedule, CheckpointsEveryNthEpochAndAtTheEnd) {
  ScheduleSpec schedule;
  schedule.epochs = 5;
  schedule.each_epoch = {{"t", 1}};
  schedule.checkpoint_every.epochs = 2;
  Script script;
  script.run(schedule);
  EXPECT_THAT(script.done, ElementsAre("t@0", "t@1", "checkpoint 2", "t@2", "t@3", "checkpoint 4",
                                       "t@4", "checkpoint 5"));
}

TEST(Schedule, AFlowThatStopsIsTheNext) {
  Script script;
  script.stop_in = "evaluate@1";
  EXPECT_EQ(script.run(two_flows(3)), ScheduleEnd::stopped);
  EXPECT_EQ(script.position.epochs_done, 1);
  EXPECT_EQ(script.position.flows_done, 1);
  EXPECT_EQ(script.last.epochs_done, 1);
  EXPECT_EQ(script.last.flows_done, 0);
}

TEST(Schedule, ARequestBetweenFlowsStopsBeforeTheNext) {
  Script script;
  script.stop_after = "train@0";
  SchedulePosition position;
  EXPECT_EQ(run_schedule(two_flows(3), position, script), ScheduleEnd::stopped);
  EXPECT_THAT(script.done, ElementsAre("train@0", "checkpoint 0"));
  EXPECT_EQ(script.last.flows_done, 1);

  Script rest;
  EXPECT_EQ(run_schedule(two_flows(3), position, rest), ScheduleEnd::complete);
  EXPECT_THAT(rest.done, ElementsAre("evaluate@0", "checkpoint 1", "train@1", "evaluate@1",
                                     "checkpoint 2", "train@2", "evaluate@2", "checkpoint 3"));
}

TEST(Schedule, ACheckpointPrecedesAFlowIfWanted) {
  Script script;
  script.kept_before = "evaluate";
  EXPECT_EQ(script.run(two_flows(1)), ScheduleEnd::complete);
  EXPECT_THAT(script.done, ElementsAre("train@0", "checkpoint 0", "evaluate@0", "checkpoint 1"));
}

TEST(Schedule, ARequestAtTheEndOfAnEpochIsCheckpointedThere) {
  ScheduleSpec schedule = two_flows(9);
  schedule.checkpoint_every.epochs = 5;
  Script script;
  script.stop_after = "evaluate@2";
  EXPECT_EQ(script.run(schedule), ScheduleEnd::stopped);
  EXPECT_EQ(script.done.back(), "checkpoint 3");
}

TEST(Schedule, GoesOnWhereItStopped) {
  ScheduleSpec schedule = two_flows(3);
  schedule.before = {"prepare"};
  Script whole;
  SchedulePosition position;
  run_schedule(schedule, position, whole);

  Script first;
  first.stop_in = "train@2";
  SchedulePosition stopped;
  run_schedule(schedule, stopped, first);
  Script second;
  SchedulePosition resumed = first.last;
  EXPECT_EQ(run_schedule(schedule, resumed, second), ScheduleEnd::complete);
  EXPECT_THAT(second.done, ElementsAre("train@2", "evaluate@2", "checkpoint 3"));
  EXPECT_EQ(resumed, position);
}

TEST(Schedule, AFailureComesThroughWithThePositionBefore) {
  Script script;
  script.fail_in = "train@1";
  EXPECT_REFUSED(script.run(two_flows(3)), Fault::data, "train@1 failed");
  EXPECT_EQ(script.position.epochs_done, 1);
}

ScheduleSpec keeping(Better better, std::int64_t epochs) {
  ScheduleSpec schedule = two_flows(epochs);
  schedule.keep = {"recall.r@1", 2, better};
  schedule.checkpoint_every.epochs = 100;
  return schedule;
}

TEST(KeptBest, HasACheckpointWheneverItIsMeasured) {
  Script script;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  script.values = {nan, 0.5, std::nullopt, 0.6, 0.6, 0.2};
  SchedulePosition position;
  EXPECT_EQ(run_schedule(keeping(Better::higher, 6), position, script), ScheduleEnd::complete);
  EXPECT_EQ(position.best_kept, (BestKept{"recall.r@1", 0.6, 4}));
  EXPECT_EQ(best_epochs(position), 4);
  std::erase_if(script.done, [](const std::string& what) { return what.find('@') != what.npos; });
  EXPECT_THAT(script.done, ElementsAre("checkpoint 2", "checkpoint 4", "checkpoint 6"));
  Script losses;
  losses.values = {nan, 0.5, 0.6, 0.2};
  SchedulePosition lower;
  run_schedule(keeping(Better::lower, 4), lower, losses);
  EXPECT_EQ(lower.best_kept, (BestKept{"recall.r@1", 0.2, 4}));
}

TEST(KeptBest, GoesBeforeTheBestOfStopEarly) {
  SchedulePosition position;
  EXPECT_EQ(best_epochs(position), std::nullopt);
  position.best = 0.5;
  position.best_epochs = 3;
  EXPECT_EQ(best_epochs(position), 3);
  position.best_kept = {"loss.loss", 0.5, 2};
  EXPECT_EQ(best_epochs(position), 2);
}

TEST(KeptBest, AMetricThatNobodyRecordsIsNamed) {
  Script script;
  ScheduleSpec schedule = keeping(Better::higher, 9);
  schedule.keep.best = "recall.r@7";
  SchedulePosition position;
  EXPECT_REFUSED(run_schedule(schedule, position, script), Fault::configuration,
                 "keep = { best = ... } names 'recall.r@7', which no stage has recorded; did you "
                 "mean 'recall.r@1'?\nrecorded so far: recall.r@1, loss.loss");
  EXPECT_EQ(position.epochs_done, 1);
  // Once recorded, though not in this epoch, it is known.
  schedule.keep.best = "loss.loss";
  SchedulePosition known;
  EXPECT_EQ(run_schedule(schedule, known, script), ScheduleEnd::complete);
}

ScheduleSpec stopping(Goal goal, std::int64_t patience, std::int64_t epochs = 20) {
  ScheduleSpec schedule = two_flows(epochs);
  schedule.stop_early = StopEarly{"recall.r@1", patience, goal};
  return schedule;
}

TEST(EarlyStop, WaitsForPatienceMeasurementsWithoutGain) {
  Script script;
  script.values = {0.1, 0.3, 0.2, 0.3, 0.4, 0.1, 0.1, 0.1, 0.9};
  const ScheduleSpec schedule = stopping(Goal::highest, 3);
  EXPECT_EQ(script.run(schedule), ScheduleEnd::complete);
  EXPECT_EQ(script.position.epochs_done, 8);
  EXPECT_TRUE(script.position.stopped_early);
  EXPECT_EQ(script.position.best, 0.4);
  EXPECT_EQ(script.position.best_epochs, 5);
  EXPECT_EQ(script.done.back(), "checkpoint 8");
  EXPECT_TRUE(is_complete(schedule, script.position));
}

TEST(EarlyStop, TheBestEpochIsCheckpointedWheneverItComes) {
  ScheduleSpec schedule = stopping(Goal::highest, 3);
  schedule.checkpoint_every.epochs = 100;
  Script script;
  script.values = {0.1, 0.3, 0.2, 0.2, 0.2};
  script.run(schedule);
  EXPECT_THAT(script.done, Contains("checkpoint 2"));
  EXPECT_THAT(script.done, Not(Contains("checkpoint 3")));
}

/// Stops after the second epoch, in which three flows are not due.
ScheduleSpec stopping_between_turns() {
  ScheduleSpec schedule = stopping(Goal::highest, 1);
  schedule.each_epoch.insert(schedule.each_epoch.begin() + 1, {{"gallery", 3}, {"search", 3}});
  schedule.each_epoch.push_back({"train_head", 3});
  schedule.after = {"report"};
  schedule.keep.best = "recall.r@1";
  return schedule;
}

TEST(EarlyStop, FlowsThatWereNotDueMeasureTheFinalWeights) {
  Script script;
  script.values = {0.5, 0.4};
  EXPECT_EQ(script.run(stopping_between_turns()), ScheduleEnd::complete);
  EXPECT_THAT(script.done,
              ElementsAre("train@0", "evaluate@0", "checkpoint 1", "train@1", "evaluate@1",
                          "gallery@1", "search@1", "checkpoint 2", "report@1", "checkpoint 2"));
  EXPECT_EQ(script.position.epochs_measured, 2);
}

TEST(EarlyStop, ResumesAmongTheFlowsThatWereNotDue) {
  const ScheduleSpec schedule = stopping_between_turns();
  for (const char* stop_after : {"evaluate@1", "gallery@1"}) {
    Script first;
    first.values = {0.5, 0.4};
    first.stop_after = stop_after;
    SchedulePosition position;
    EXPECT_EQ(run_schedule(schedule, position, first), ScheduleEnd::stopped);
    EXPECT_FALSE(is_complete(schedule, first.last));
    EXPECT_EQ(first.last.epochs_done, 1);
    Script rest;
    rest.values = {0.5, 0.4};
    SchedulePosition resumed = first.last;
    EXPECT_EQ(run_schedule(schedule, resumed, rest), ScheduleEnd::complete);
    EXPECT_EQ(rest.done.front(), std::string(stop_after) == "gallery@1" ? "search@1" : "gallery@1");
    EXPECT_THAT(rest.done, Not(Contains("evaluate@1")));
    EXPECT_TRUE(resumed.stopped_early);
    EXPECT_EQ(resumed.epochs_done, 2);
    EXPECT_EQ(resumed.epochs_measured, 2);
  }
}

TEST(EarlyStop, OnlyNumbersAreMeasurementsAndLowestCanBeTheGoal) {
  struct Case {
    ScheduleSpec schedule;
    std::vector<std::optional<double>> values;
    std::int64_t epochs_done;
    std::optional<double> best;
  };
  const double nan = std::nan("");
  for (const Case& one :
       {Case{stopping(Goal::lowest, 2), {3, 2, 1, 2, 2}, 5, 1},
        Case{stopping(Goal::highest, 2), {nan, nan}, 2, std::nullopt},
        Case{stopping(Goal::highest, 1), {0.5, std::nullopt, std::nullopt, 0.4}, 4, 0.5}}) {
    Script script;
    script.values = one.values;
    script.run(one.schedule);
    EXPECT_EQ(script.position.epochs_done, one.epochs_done);
    EXPECT_EQ(script.position.best, one.best);
  }
}

TEST(EarlyStop, GoesOnCountingAfterAResume) {
  Script first;
  first.values = {0.5, 0.4};
  first.stop_in = "train@2";
  SchedulePosition stopped;
  const ScheduleSpec schedule = stopping(Goal::highest, 2);
  run_schedule(schedule, stopped, first);
  Script second;
  second.values = {0.5, 0.4, 0.45};
  SchedulePosition resumed = first.last;
  run_schedule(schedule, resumed, second);
  EXPECT_EQ(resumed.epochs_done, 3);
  EXPECT_TRUE(resumed.stopped_early);
}

TEST(EarlyStop, AMetricThatNobodyRecordsIsAnErrorWithTheNearestName) {
  ScheduleSpec schedule = stopping(Goal::highest, 2);
  schedule.stop_early->metric = "recal.r@1";
  schedule.each_epoch[1].every = 3;  // it may come with the first evaluation
  Script script;
  EXPECT_REFUSED(script.run(schedule), Fault::configuration,
                 "'recal.r@1', which no stage has recorded; did you mean 'recall.r@1'?\n"
                 "recorded so far: recall.r@1, loss.loss");
  EXPECT_EQ(script.position.epochs_done, 3);
}

}  // namespace seam::host::schedule_test
