#include "pipeline/report/report_data.hpp"

#include <cmath>

#include "tests/support/matchers.hpp"

namespace seam::host::report_data_test {

MetricSeries series(const std::string& stage, const std::string& name,
                    std::vector<MetricPoint> points) {
  return {"evaluate", stage, name, "", std::move(points)};
}

TEST(Curve, PutsStepsInsideTheirEpochs) {
  const Json curve = curve_of(series("loss", "loss", {{0, 4}, {0, 2}, {1, 3}, {1, 1}}));
  EXPECT_EQ(curve.at("kind"), "steps");
  EXPECT_EQ(curve.at("x"), Json({0.25, 0.75, 1.25, 1.75}));
  EXPECT_EQ(curve.at("y"), Json({4.0, 2.0, 3.0, 1.0}));
  EXPECT_EQ(curve.at("steps_per_point"), 1);
}

TEST(Curve, PutsNumbersOfAnEpochAtItsEnd) {
  const Json curve = curve_of(series("recall", "r@1", {{3, 0.5}, {7, 0.6}}));
  EXPECT_EQ(curve.at("kind"), "epochs");
  EXPECT_EQ(curve.at("x"), Json({4.0, 8.0}));
  MetricSeries before = series("recall", "r@1", {{0, 0.5}});
  before.when = "before";
  EXPECT_EQ(curve_of(before).at("x"), Json({0.0}));
}

TEST(Curve, AveragesLongOnesAndLosesNoStep) {
  MetricSeries longer = series("loss", "loss", {});
  for (int i = 0; i < 1001; ++i) longer.points.push_back({0, static_cast<double>(i)});
  const Json curve = curve_of(longer);
  EXPECT_EQ(curve.at("steps_per_point"), 3);
  EXPECT_THAT(curve.at("y"), SizeIs(334));
  EXPECT_EQ(curve.at("y").front(), 1.0);   // of 0, 1, 2
  EXPECT_EQ(curve.at("y").back(), 999.5);  // of 999, 1000
  EXPECT_LT(curve.at("x").back(), 1.0);
}

TEST(Curve, CountsWhatIsNotFiniteInsteadOfAveragingIt) {
  const Json curve = curve_of(series("loss", "loss", {{0, 1}, {0, std::nan("")}, {0, HUGE_VAL}}));
  EXPECT_EQ(curve.at("y"), Json({1.0, nullptr, nullptr}));
  EXPECT_EQ(curve.at("not_finite"), 2);
}

TEST(RecallOf, TakesTheLastOfEachMaskAndNotTheRepeatedFirst) {
  const Json recall =
      recall_of({series("recall", "r@1", {{0, 0.1}, {1, 0.2}}),
                 series("recall", "none.r@10", {{0, 0.5}, {1, 0.6}}),
                 series("recall", "none.r@1", {{0, 0.1}, {1, 0.2}}),
                 series("recall", "none.r@1.optimistic", {{0, 1}, {1, 1}}),
                 series("recall", "predicted.r@1", {{1, 0.3}}), series("other", "r@5", {{1, 0.4}}),
                 series("other", "mrr@5", {{1, 0.4}})});
  ASSERT_THAT(recall, SizeIs(3));
  EXPECT_EQ(recall[0].at("mask"), "none");
  EXPECT_EQ(recall[0].at("k"), Json({1, 10}));
  EXPECT_EQ(recall[0].at("value"), Json({0.2, 0.6}));
  EXPECT_EQ(recall[0].at("epoch"), 1);
  EXPECT_EQ(recall[1].at("mask"), "predicted");
  EXPECT_EQ(recall[2].at("stage"), "other");
}

TEST(ScoresOf, AreTheSmallestKWithItsBestEpochAndProtocol) {
  RunRecord record;
  record.metrics = {series("recall", "none.r@1", {{0, 0.4}, {1, 0.6}, {2, 0.5}}),
                    series("recall", "none.r@5", {{0, 0.5}, {1, 0.7}, {2, 0.6}})};
  record.reports = {{"evaluate-recall-recall-k", "epoch-0002",
                     "| mask | R@1 |\n| none | 50 |\n\n| none | 1 | `data/img64/mask=none` |\n"}};
  const Json scores = scores_of(record);
  ASSERT_THAT(scores, SizeIs(1));
  EXPECT_EQ(scores[0].at("metric"), "recall.none.r@1");
  EXPECT_EQ(scores[0].at("value"), 0.5);
  EXPECT_EQ(scores[0].at("epoch"), 2);
  EXPECT_EQ(scores[0].at("best"), Json({{"value", 0.6}, {"epoch", 1}}));
  EXPECT_EQ(scores[0].at("protocol"), "data/img64/mask=none");
}

TEST(ScoresOf, HaveTheProtocolOfTheirOwnStageIfNamesBeginAlike) {
  RunRecord record;
  record.metrics = {series("recall", "none.r@1", {{0, 0.4}}),
                    series("recall-cross", "none.r@1", {{0, 0.3}})};
  record.reports = {
      {"evaluate-recall-cross-recall-k", "epoch-0001", "| none | 1 | `cross/mask=none` |\n"},
      {"evaluate-recall-recall-k", "epoch-0001", "| none | 1 | `data/mask=none` |\n"}};
  const Json scores = scores_of(record);
  ASSERT_THAT(scores, SizeIs(2));
  EXPECT_EQ(scores[0].at("protocol"), "data/mask=none");
  EXPECT_EQ(scores[1].at("protocol"), "cross/mask=none");
}

TEST(ScoresOf, AreNotThoseOfTheUntrainedNetwork) {
  RunRecord record;
  record.metrics = {series("recall", "none.r@1", {{0, 0.9}}),
                    series("recall", "none.r@1", {{0, 0.4}, {1, 0.6}})};
  record.metrics[0].when = "before";
  const Json scores = scores_of(record);
  ASSERT_THAT(scores, SizeIs(1));
  EXPECT_EQ(scores[0].at("value"), 0.6);
  const Json recall = recall_of(record.metrics);
  ASSERT_THAT(recall, SizeIs(2));  // the page draws both, and names the first
  EXPECT_EQ(recall[0].at("when"), "before");
  EXPECT_EQ(recall[1].at("when"), "");
  record.metrics.pop_back();  // a run that only evaluates
  EXPECT_EQ(scores_of(record)[0].at("value"), 0.9);
  EXPECT_EQ(scores_of(record)[0].at("when"), "before");
}

TEST(ScoresOf, AreTheMeanLossWhereNothingIsRetrieved) {
  RunRecord record;
  record.metrics = {series("loss", "loss", {{0, 4}, {0, 2}, {1, 3}, {1, 1}})};
  const Json scores = scores_of(record);
  ASSERT_THAT(scores, SizeIs(1));
  EXPECT_EQ(scores[0].at("value"), 2.0);
  EXPECT_EQ(scores[0].at("better"), "lower");
  record.metrics = {series("loss", "loss", {{0, std::nan("")}})};
  EXPECT_TRUE(std::isnan(scores_of(record)[0].at("value").get<double>()));
}

TEST(Labels, AreFolderNamesUnlessTheyAreTheSame) {
  EXPECT_THAT(labels_of({"runs/a", "runs/b/"}), ElementsAre("a", "b"));
  EXPECT_THAT(labels_of({"x/a", "y/a", "b"}), ElementsAre("x/a", "y/a", "b"));
}

TEST(ReportData, ComparesSettingsPluginsAndProgram) {
  RunRecord first;
  first.folder = "a";
  first.launch.version = "0.1.0";
  first.settings = {{"stage.adam", "rate", "0.1", SetBy::file}};
  RunRecord second = first;
  second.launch.version = "0.2.0";
  second.settings[0].value = "0.2";
  first.launch.data = {{"stage.items.list", "1111111111111"}};
  second.launch.data = {{"stage.items.list", "2222222222222"}};
  const Json data = report_data({first, second}, {"a", "b"});
  EXPECT_THAT(data.at("runs"), SizeIs(2));
  ASSERT_THAT(data.at("differences"), SizeIs(3));
  EXPECT_EQ(data.at("differences")[0].at("name"), "program.version");
  EXPECT_EQ(data.at("differences")[1].at("name"), "stage.items.list (content)");
  EXPECT_EQ(data.at("differences")[1].at("values"), Json({"111111111111", "222222222222"}));
  EXPECT_EQ(data.at("differences")[2].at("values"), Json({"0.1", "0.2"}));
  EXPECT_EQ(data.at("runs")[1].at("launch").at("data").at("stage.items.list"), "2222222222222");
}

}  // namespace seam::host::report_data_test
