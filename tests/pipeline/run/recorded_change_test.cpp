#include "pipeline/run/recorded_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/run/changes_json.hpp"
#include "pipeline/run/run_directory.hpp"

namespace seam::host {
namespace recorded_change_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

RecordedChange change(std::int64_t epochs, const std::string& pipeline,
                      std::vector<ParameterChange> parameters) {
  return {{epochs, 0, 0}, "2026-03-01T09:30:00Z", {pipeline}, std::move(parameters)};
}

TEST(RecordedChange, IsReadBackFromTheHeadOfTheFile) {
  Launch launch;
  launch.changes = {change(4, "a", {{"stage.x.rate", "0.1", "\"a \\ b\""}, {"stage.x.y", {}, "1"}}),
                    {{6, 1, 500}, "t", {"b", "c"}, {{"limits.bytes", "1", {}}}}};
  EXPECT_EQ(parse_launch(headed_text(launch, "[pipeline]\n"), "resolved.toml").changes,
            launch.changes);
}

TEST(RecordedChange, IsAddedBehindEarlierOnes) {
  const std::vector<RecordedChange> before{change(4, "a", {{"k", "1", "2"}})};
  const auto now = change(8, "b", {{"k", "2", "3"}});
  EXPECT_THAT(with_change(before, now), ElementsAre(before.front(), now));
  EXPECT_EQ(with_change(before, change(8, "b", {})), before);
  EXPECT_EQ(with_change(before, change(4, "b", {})), before) << "its time stays";
  EXPECT_THAT(with_change({}, change(8, "b", {})), IsEmpty());
}

TEST(RecordedChange, WhatIsRepeatedWithTheNewestValuesIsOne) {
  const std::vector<RecordedChange> before{change(2, "a", {{"k", "1", "2"}}),
                                           change(4, "b", {{"k", "2", "3"}, {"m", {}, "1"}}),
                                           change(6, "c", {{"k", "3", "4"}})};
  RecordedChange merged = change(3, "b", {{"k", "2", "4"}, {"m", {}, "1"}});
  merged.pipelines = {"b", "c", "d"};
  EXPECT_THAT(with_change(before, change(3, "d", {})), ElementsAre(before.front(), merged));
  merged.parameters = {{"k", "2", "5"}};
  EXPECT_THAT(with_change(before, change(3, "d", {{"k", "4", "5"}, {"m", "1", {}}})),
              ElementsAre(before.front(), merged));
}

TEST(RecordedChange, ACheckpointThatWasWrittenBeforeItIsKnown) {
  const std::vector<RecordedChange> recorded{change(2, "a", {}), change(4, "b", {})};
  EXPECT_TRUE(is_known(recorded, {4, 0, 0}, "b"));
  EXPECT_TRUE(is_known(recorded, {3, 0, 5}, "b"));
  EXPECT_TRUE(is_known(recorded, {2, 0, 0}, "a"));
  EXPECT_FALSE(is_known(recorded, {3, 0, 0}, "a")) << "it should have the change's";
  EXPECT_FALSE(is_known(recorded, {5, 0, 0}, "b"));
}

TEST(RecordedChange, SaysItsValuesInTheirOrder) {
  const std::vector<RecordedChange> recorded{change(4, "a", {{"k", "1", "2"}}),
                                             {{6, 1, 500}, "t", {"b"}, {{"k", "2", {}}}}};
  EXPECT_THAT(values_over_run(recorded),
              ElementsAre(Pair("k",
                               "1, then 2 from epoch 5, then not set from epoch 7, flow 2, "
                               "step 500")));
  EXPECT_EQ(to_text(recorded.front()), "from epoch 5 on: k = 2 (was 1)");
  EXPECT_EQ(json_line(changes_json({recorded.back(), change(9, "x", {})})),
            R"json([{"epoch":6,"time":"t",)json"
            R"json("text":"from epoch 7, flow 2, step 500 on: k = not set (was 2)",)json"
            R"json("parameters":[{"key":"k","before":"2","now":null}],)json"
            R"json("flows_done":1,"steps_done":500}])json");
}

}  // namespace recorded_change_test
}  // namespace seam::host
