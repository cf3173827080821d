#include "pipeline/experiments/metric_values.hpp"

#include <cmath>
#include <limits>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::metric_values_test {

class MetricValues : public ::testing::Test {
 protected:
  test::TemporaryFolder folder_;
};

constexpr const char* metrics =
    R"({"epoch":0,"flow":"train","stage":"loss","name":"loss","step":0,"value":4}
{"epoch":0,"flow":"train","stage":"loss","name":"loss","step":1,"value":2}
{"epoch":0,"flow":"evaluate","stage":"recall","name":"none.r@1","step":0,"value":0.5}
{"epoch":1,"flow":"train","stage":"loss","name":"loss","step":0,"value":null}
{"epoch":1,"flow":"evaluate","stage":"recall","name":"none.r@1","step":0,"value":0.25}
{"epoch":2,"flow":"train","stage":"loss","name":"loss","step":0,"value":1e999}
{"epoch":2,"flow":"test","stage":"recall","name":"none.r@1","step":0,"value":0.75,"when":"after"}
{"epoch":3,"flow":"train","stage":"loss","name":"lo)";

TEST_F(MetricValues, AValueEachTimeAFlowRan) {
  folder_.write("metrics.jsonl", metrics);
  const std::vector<MetricValue> losses = read_metric(folder_.path(), "loss.loss");
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[0].value, 3) << "the mean over its steps";
  EXPECT_TRUE(std::isnan(losses[1].value));
  EXPECT_EQ(losses[2].value, std::numeric_limits<double>::infinity());
  EXPECT_THAT(metric_names(folder_.path()), ElementsAre("loss.loss", "recall.none.r@1"));
  EXPECT_TRUE(read_metric(folder_.path(), "other.loss").empty());
}

TEST_F(MetricValues, TheLastOrTheBestEpochOfAFlow) {
  folder_.write("metrics.jsonl", metrics);
  const std::string metric = "recall.none.r@1";
  const auto values = read_metric(folder_.path(), metric);
  const auto last = choose_value(values, metric, "evaluate", WhichEpoch::last, Better::higher);
  EXPECT_EQ(last->value, 0.25);
  EXPECT_EQ(last->epoch, 1);
  EXPECT_EQ(choose_value(values, metric, "evaluate", WhichEpoch::best, Better::higher)->value, 0.5);
  EXPECT_EQ(choose_value(values, metric, "evaluate", WhichEpoch::best, Better::lower)->value, 0.25);
  EXPECT_FALSE(choose_value(values, metric, "train", WhichEpoch::best, Better::lower));
  EXPECT_REFUSED((void)choose_value(values, metric, "", WhichEpoch::last, Better::higher),
                 Fault::configuration, "is recorded by several flows (evaluate, test)");
}

TEST_F(MetricValues, NotANumberIsNeverTheBest) {
  const std::vector<MetricValue> values{
      {0, "f", "", std::nan("")}, {1, "f", "", 2}, {2, "f", "", std::nan("")}};
  EXPECT_EQ(choose_value(values, "m", "", WhichEpoch::best, Better::lower)->epoch, 1);
  EXPECT_TRUE(std::isnan(choose_value(values, "m", "", WhichEpoch::last, Better::lower)->value));
}

TEST_F(MetricValues, WhatWasMeasuredBeforeTheEpochsIsNotTheBestOfThem) {
  const std::vector<MetricValue> values{{0, "f", "before", 9}, {0, "f", "", 1}, {1, "f", "", 2}};
  EXPECT_EQ(choose_value(values, "m", "", WhichEpoch::best, Better::higher)->value, 2);
  EXPECT_EQ(choose_value({values[0]}, "m", "", WhichEpoch::best, Better::higher)->value, 9);
}

Score score(const std::string& metric, const MetricValue& value) {
  Score made;
  made.metric = metric;
  made.flow = value.flow;
  made.epoch = value.epoch;
  made.when = value.when;
  made.value = value.value;
  return made;
}

TEST_F(MetricValues, AFileWithoutTheValuesOfTheScoresIsCut) {
  folder_.write("metrics.jsonl", metrics);
  const std::string recall = "recall.none.r@1";
  const Score evaluated = score(recall, {1, "evaluate", "", 0.25});
  const Score tested = score(recall, {2, "test", "after", 0.75});
  const Score trained = score("loss.loss", {2, "train", "", std::nan("")});  // infinity
  const auto is_cut_for = [&](const Score& other) {
    return is_cut(folder_.path(), {evaluated, tested, trained, other});
  };
  EXPECT_FALSE(is_cut(folder_.path(), {}));
  EXPECT_FALSE(is_cut_for(evaluated));
  EXPECT_TRUE(is_cut_for(score(recall, {2, "evaluate", "", 0.25})));
  EXPECT_TRUE(is_cut_for(score(recall, {2, "test", "", 0.75})));
  EXPECT_TRUE(is_cut_for(score(recall, {1, "evaluate", "", 0.5})));
  EXPECT_TRUE(is_cut_for(score(recall, {1, "validate", "", 0.25})));
  EXPECT_TRUE(is_cut_for(score("recall.none.r@5", {1, "evaluate", "", 0.25})));
  EXPECT_TRUE(is_cut_for(score("loss.loss", {2, "train", "", 3})));
}

TEST_F(MetricValues, HeadlinesOfAScoreFile) {
  EXPECT_TRUE(read_headlines(folder_.path()).empty());
  folder_.write("score.json",
                R"({"format":1,"scores":[{"metric":"recall.none.r@1","value":0.66,
                "standard_error":0.02,"better":"higher","flow":"evaluate","epoch":12,
                "best":{"value":0.7,"epoch":8},"protocol":"inshop-subset/img64"},
                {"metric":"loss.loss","value":null,"standard_error":null,
                "better":"lower","flow":"train","epoch":12,"best":null,"protocol":null}]})");
  const auto headlines = read_headlines(folder_.path());
  ASSERT_EQ(headlines.size(), 2U);
  EXPECT_EQ(headlines[0].metric, "recall.none.r@1");
  EXPECT_EQ(headlines[0].flow, "evaluate");
  EXPECT_EQ(headlines[0].protocol, "inshop-subset/img64");
  EXPECT_EQ(headlines[1].better, Better::lower);
  EXPECT_EQ(headlines[1].protocol, "");
}

}  // namespace seam::host::metric_values_test
