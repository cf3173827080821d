#include "pipeline/run/kept_state.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace seam::host::kept_state_test {

/// train: model.  fill: gallery.  evaluate: search, which refers to gallery.
PipelineSpec pipeline(std::vector<ScheduledFlow> each_epoch, std::int64_t epochs = 10) {
  PipelineSpec spec;
  for (const char* name : {"model", "gallery", "search"}) {
    spec.stages.emplace_back().name = name;
  }
  spec.stages[2].references = {{"index", "gallery"}};
  const auto add = [&spec](const std::string& name, const std::vector<std::string>& stages) {
    FlowSpec& flow = spec.flows.emplace_back();
    flow.name = name;
    for (const std::string& stage : stages) flow.nodes.push_back({stage, {}, {}});
  };
  add("train", {"model"});
  add("fill", {"model", "gallery"});
  add("evaluate", {"model", "search"});
  add("both", {"model", "gallery", "search"});
  spec.schedule.each_epoch = std::move(each_epoch);
  spec.schedule.epochs = epochs;
  return spec;
}

SchedulePosition after_epochs(std::int64_t epochs) {
  SchedulePosition position;
  position.before_done = true;
  position.epochs_done = epochs;
  return position;
}

TEST(MadeBeforeRead, TheFirstFlowThatUsesItDecides) {
  struct Case {
    std::vector<ScheduledFlow> each_epoch;
    std::int64_t epochs_done;
    bool made;
  };
  // Filled every 4th epoch (3, 7 and the last one), read in every one.
  const std::vector<ScheduledFlow> often{{"fill", 4}, {"evaluate", 1}};
  const std::vector<Case> cases{
      {{{"train", 1}, {"fill", 1}, {"evaluate", 1}}, 3, true},
      {{{"evaluate", 1}, {"fill", 1}}, 3, false},
      {{{"both", 1}}, 3, false},
      {{{"train", 1}}, 3, true},      // never used again
      {{{"evaluate", 1}}, 10, true},  // the epochs are over
      {often, 1, false},
      {often, 3, true},
      {often, 4, false},
      {often, 9, true},  // all flows run in the last
      // Filled every 2nd, read every 4th: epoch 3 has both, in this order.
      {{{"train", 1}, {"fill", 2}, {"evaluate", 4}}, 2, true},
  };
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const PipelineSpec spec = pipeline(cases[at].each_epoch);
    EXPECT_EQ(made_before_read(spec, after_epochs(cases[at].epochs_done), "gallery"),
              cases[at].made)
        << at;
  }
}

TEST(MadeBeforeRead, WithinAnEpochTheFlowsThatAreLeftDecide) {
  const PipelineSpec spec = pipeline({{"train", 1}, {"fill", 1}, {"evaluate", 1}});
  SchedulePosition position = after_epochs(3);
  for (const bool made : {true, true, false, true}) {
    EXPECT_EQ(made_before_read(spec, position, "gallery"), made) << position.flows_done;
    ++position.flows_done;
  }
}

TEST(MadeBeforeRead, FlowsBeforeAndAfterTheEpochsCount) {
  PipelineSpec spec = pipeline({{"train", 1}});
  spec.schedule.before = {"fill"};
  spec.schedule.after = {"evaluate"};
  EXPECT_TRUE(made_before_read(spec, SchedulePosition(), "gallery"));
  EXPECT_FALSE(made_before_read(spec, after_epochs(0), "gallery"));
  EXPECT_FALSE(made_before_read(spec, after_epochs(10), "gallery"));
  SchedulePosition end = after_epochs(10);
  end.after_done = true;
  EXPECT_TRUE(made_before_read(spec, end, "gallery"));
  spec.schedule.after = {"fill", "evaluate"};
  EXPECT_TRUE(made_before_read(spec, after_epochs(3), "gallery"));
}

TEST(MadeBeforeRead, ARunThatMayStopEarlyMayReadItThen) {
  PipelineSpec spec = pipeline({{"train", 1}, {"fill", 4}});
  spec.schedule.after = {"evaluate"};
  EXPECT_TRUE(made_before_read(spec, after_epochs(1), "gallery"));
  spec.schedule.stop_early = StopEarly{"model.loss", 1, Goal::lowest};
  EXPECT_FALSE(made_before_read(spec, after_epochs(1), "gallery"));
  EXPECT_TRUE(made_before_read(spec, after_epochs(3), "gallery")) << "the next epoch fills it";
  SchedulePosition stopped = after_epochs(3);
  stopped.stopped_early = true;
  EXPECT_FALSE(made_before_read(spec, stopped, "gallery"));
}

TEST(MadeBeforeRead, ARunThatStopsEarlyStillRunsTheFlowsThatWereNotDue) {
  PipelineSpec spec = pipeline({{"train", 1}, {"fill", 2}, {"evaluate", 3}});
  EXPECT_TRUE(made_before_read(spec, after_epochs(1), "gallery"));
  spec.schedule.stop_early = StopEarly{"model.loss", 1, Goal::lowest};
  EXPECT_TRUE(made_before_read(spec, after_epochs(1), "gallery")) << "the next epoch fills it";
  SchedulePosition position = after_epochs(1);
  position.flows_done = 2;
  EXPECT_FALSE(made_before_read(spec, position, "gallery")) << "evaluate may be the next flow";
  position.flows_done = 3;
  EXPECT_FALSE(made_before_read(spec, position, "gallery")) << "epoch 2 evaluates without filling";
  const PipelineSpec seldom = [&] {
    PipelineSpec changed = pipeline({{"train", 1}, {"fill", 3}, {"evaluate", 3}});
    changed.schedule.stop_early = spec.schedule.stop_early;
    return changed;
  }();
  EXPECT_TRUE(made_before_read(seldom, after_epochs(1), "gallery"));
  position.flows_done = 2;  // fill has run, though it was not due
  EXPECT_FALSE(made_before_read(seldom, position, "gallery"));
  PipelineSpec tunes = pipeline({{"train", 1}, {"train", 4}, {"fill", 4}, {"evaluate", 4}});
  tunes.schedule.stop_early = spec.schedule.stop_early;
  EXPECT_FALSE(made_before_read(tunes, position, "gallery")) << "of these, train does not run";
}

TEST(MadeBeforeRead, AReaderOfAReaderReads) {
  PipelineSpec spec = pipeline({{"train", 1}, {"fill", 1}});
  spec.stages[0].references = {{"miner", "search"}};  // the model asks what the search finds
  EXPECT_FALSE(made_before_read(spec, after_epochs(3), "gallery"));
}

TEST(CanBeOmitted, NotIfARunWithMoreEpochsReadsItFirst) {
  PipelineSpec spec = pipeline({{"evaluate", 1}});
  spec.schedule.before = {"fill"};
  SchedulePosition end = after_epochs(10);
  EXPECT_TRUE(made_before_read(spec, end, "gallery")) << "this run is over";
  EXPECT_FALSE(can_be_omitted(spec, end, "gallery"));
  end.after_done = true;
  EXPECT_FALSE(can_be_omitted(spec, end, "gallery"));
  SchedulePosition stopped = after_epochs(3);
  stopped.stopped_early = true;
  EXPECT_FALSE(can_be_omitted(spec, stopped, "gallery"));
  spec.schedule.each_epoch = {{"fill", 1}, {"evaluate", 1}};
  EXPECT_TRUE(can_be_omitted(spec, end, "gallery"));
}

TEST(CanBeOmitted, DependsOnTheNextEpochThatUsesItAndOnTheLastOne) {
  const PipelineSpec often = pipeline({{"fill", 4}, {"evaluate", 1}});
  EXPECT_TRUE(can_be_omitted(often, after_epochs(3), "gallery"));
  EXPECT_TRUE(made_before_read(often, after_epochs(9), "gallery")) << "it is the last epoch here";
  EXPECT_FALSE(can_be_omitted(often, after_epochs(9), "gallery"));
  const PipelineSpec rarely = pipeline({{"train", 1}, {"fill", 2}, {"evaluate", 4}});
  EXPECT_TRUE(can_be_omitted(rarely, after_epochs(10), "gallery"));
  const PipelineSpec last = pipeline({{"evaluate", 4}, {"fill", 1}});
  EXPECT_TRUE(made_before_read(last, after_epochs(4), "gallery"));
  EXPECT_FALSE(can_be_omitted(last, after_epochs(4), "gallery")) << "epoch 5 may be the last one";
}

TEST(CanBeOmitted, FlowsAfterTheEpochsRunAgainAfterMoreOfThem) {
  PipelineSpec spec = pipeline({{"train", 1}});
  spec.schedule.before = {"fill"};
  spec.schedule.after = {"evaluate"};
  SchedulePosition end = after_epochs(10);
  end.flows_done = 1;
  EXPECT_FALSE(can_be_omitted(spec, end, "gallery"));
  spec.schedule.after = {"fill", "evaluate"};
  EXPECT_TRUE(can_be_omitted(spec, after_epochs(10), "gallery"));
}

}  // namespace seam::host::kept_state_test
