#include "pipeline/run/from_run.hpp"

#include "seam/error.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::from_run_test {

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::configuration);
    return error.what();
  }
  return "accepted";
}

ScheduleSpec schedule(std::int64_t epochs) {
  ScheduleSpec schedule;
  schedule.epochs = epochs;
  schedule.each_epoch = {{"train", 1}, {"evaluate", 5}};
  return schedule;
}

TEST(DifferencesBetween, AreKeysWhoseValuesDiffer) {
  EXPECT_THAT(differences_between("[a]\nx = 1\ny = 2\nz = { n = 1 }\n",
                                  "[a]\nx = 1  # default\ny = 3\nw = 4\n"),
              ElementsAre(Difference{"a.w", {}, "4"}, Difference{"a.y", "2", "3"},
                          Difference{"a.z.n", "1", {}}));
}

TEST(DifferencesBetween, OnlySomeCanChangeResults) {
  const std::vector<Difference> all{{"limits.bytes", "1", "2"}, {"stage.adam.rate", "1", "2"}};
  EXPECT_THAT(in_results(all, Roles()), ElementsAre(Difference{"stage.adam.rate", "1", "2"}));
  EXPECT_THAT(in_results(all, Roles(Roles::Texts{{"stage.adam.rate", "same_results"}})), IsEmpty());
  EXPECT_EQ(to_text({{"a.b", "1", {}}, {"a.c", {}, "2"}}),
            "a.b = not set (was 1), a.c = 2 (was not set)");
}

SchedulePosition stopped_early() {
  SchedulePosition position;
  position.before_done = true;
  position.epochs_done = 7;
  position.stopped_early = true;
  position.best = 0.5;
  position.best_epochs = 4;
  position.without_gain = 3;
  position.epochs_measured = 7;
  position.after_done = true;
  return position;
}

TEST(Continued, TheFlowsAfterTheEpochsRunAgainBehindMoreOfThem) {
  SchedulePosition position = stopped_early();
  position.stopped_early = false;
  EXPECT_FALSE(continued({}, schedule(8), position).after_done);
  EXPECT_TRUE(continued({}, schedule(7), position).after_done);
  EXPECT_TRUE(continued({}, schedule(8), stopped_early()).after_done);
}

TEST(Continued, AnotherRuleMeasuresAnew) {
  ScheduleSpec now = schedule(9);
  now.stop_early = StopEarly{"recall.r@1", 5, Goal::highest};
  const auto patience =
      continued({{"schedule.stop_early.patience", "3", "5"}}, now, stopped_early());
  EXPECT_FALSE(patience.stopped_early);
  EXPECT_EQ(patience.best, 0.5);
  EXPECT_FALSE(patience.after_done);
  now.stop_early->patience = 3;
  EXPECT_TRUE(
      continued({{"schedule.stop_early.patience", "2", "3"}}, now, stopped_early()).stopped_early);
  const auto metric =
      continued({{"schedule.stop_early.metric", "\"a.b\"", "\"a.c\""}}, now, stopped_early());
  EXPECT_FALSE(metric.stopped_early);
  EXPECT_FALSE(metric.best);
  EXPECT_EQ(metric.epochs_measured, 0);
}

TEST(Continued, WithoutARuleTheBestStandsAndTheEpochsGoOn) {
  const auto on = continued({{"schedule.stop_early", "{}", "false"}}, schedule(9), stopped_early());
  EXPECT_FALSE(on.stopped_early);
  EXPECT_EQ(on.best, 0.5);
  EXPECT_EQ(on.best_epochs, stopped_early().best_epochs);
}

TEST(InitialWeights, CannotBeChangedBehindACheckpoint) {
  const auto refusal = [](const std::string& key) {
    return complaint([&] {
      refuse_initial(
          {{key, "1", "2"}}, [](const std::string& one) { return one == "stage.model.weights"; },
          "epoch-2.safetensors");
    });
  };
  EXPECT_THAT(refusal("stage.model.weights"),
              HasSubstr("starts with the weights in 'epoch-2.safetensors'"));
  EXPECT_EQ(refusal("stage.model.rate_scale"), "accepted");
}

TEST(WithoutEffect, IsRefused) {
  const auto refusal = [](const std::string& key, const ScheduleSpec& now,
                          const SchedulePosition& position) {
    return complaint([&] { refuse_without_effect({{key, "1", "2"}}, now, position); });
  };
  SchedulePosition done = stopped_early();
  EXPECT_THAT(refusal("schedule.epochs", schedule(20), done),
              HasSubstr("stop_early ended that run after epoch 7"));
  done.stopped_early = false;
  EXPECT_THAT(refusal("stage.a.b", schedule(7), done), HasSubstr("stage.a.b would have no effect"));
  EXPECT_THAT(refusal("schedule.epochs", schedule(6), done),
              HasSubstr("7 epochs are already done"));
  EXPECT_EQ(refusal("schedule.epochs", schedule(8), done), "accepted");
}

class OtherGraph : public ::testing::Test {
 protected:
  OtherGraph() {
    before_.stages.resize(2);
    before_.stages[0].name = "search";
    before_.stages[0].use = "retrieval.search";
    before_.stages[0].references = {{"index", "gallery"}};
    before_.stages[1].name = "gallery";
    before_.flows = {{"train", "a -> b", {}, {}}};
    before_.schedule = schedule(3);
    now_ = before_;
  }
  std::string refusal() {
    std::string text = complaint([&] { refuse_other_graph(before_, now_, "runs/x"); });
    now_ = before_;
    return text;
  }

  PipelineSpec before_;
  PipelineSpec now_;
};

TEST_F(OtherGraph, IsRefusedByName) {
  EXPECT_EQ(refusal(), "accepted");
  now_.schedule.each_epoch[1].every = 1;
  EXPECT_EQ(refusal(), "accepted");
  now_.stages[0].references["index"] = "other";
  EXPECT_THAT(refusal(), HasSubstr("'stage.search.index' cannot be changed with --from: it is "
                                   "\"gallery\", and --set would make it \"other\""));
  now_.stages.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("'stage.gallery.use'"));
  now_.flows.front().text = "a -> c";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("'flow.train' cannot be changed with --from"),
                               HasSubstr("weights = \"runs/x\"")));
  now_.paths.push_back({"p", "a"});
  EXPECT_THAT(refusal(), HasSubstr("'path.p'"));
  now_.schedule.each_epoch.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("'schedule.each_epoch'"));
}

}  // namespace seam::host::from_run_test
