#include "pipeline/run/scores.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "seam/stage.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::scores_test {

using seam::test::TemporaryFolder;
using Beside = Score::Beside;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

class Judge final : public Sink {
 public:
  Judge(std::vector<Headline> headlines, bool trains)
      : headlines_(std::move(headlines)), trains_(trains) {}
  void declare(Declaration& d) override {
    d.parameter("protocol", protocol_, "which results it may be compared with").protocol();
    for (const Headline& headline : headlines_) d.headline(headline.metric, headline.better);
    if (trains_) d.trains();
    d.reads_label(field::categories.name);  // which counts in scheduled flows that do not train
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}

 private:
  std::string protocol_;
  std::vector<Headline> headlines_;
  bool trains_;
};

/// Passes packets on, like a sampler.
class Drawn final : public Collector {
 public:
  void declare(Declaration& d) override {
    d.parameter("pairs", pairs_, "which pairs");
    d.parameter("threads", threads_, "changes nothing").same_results();
  }
  void process(Packet /*packet*/, Emitter& /*emitter*/, Context& /*context*/) override {}

 private:
  std::string pairs_ = "once";
  std::int64_t threads_ = 1;
};

/// Flows `train` (loss -> adam) and `evaluate` (recall).
class ScoresTest : public ::testing::Test {
 protected:
  ScoresTest() {
    add("train", "loss", {{"loss", Better::lower}}, true);
    add("evaluate", "recall", {{"*.r@1", Better::higher}, {"mrr", Better::higher}}, false);
  }

  void add(const std::string& flow, const std::string& stage, std::vector<Headline> headlines,
           bool trains) {
    pipeline_.stages[stage] = std::make_unique<StageRunner>(
        stage, "test.judge", std::make_unique<Judge>(std::move(headlines), trains));
    FlowSpec spec;
    spec.name = flow;
    spec.nodes.push_back({stage, {}, {}});
    pipeline_.spec.flows.push_back(spec);
    StageSpec named;
    named.name = stage;
    pipeline_.spec.stages.push_back(named);
  }

  static std::vector<std::string> metrics(const std::vector<Score>& scores) {
    std::vector<std::string> names;
    for (const Score& score : scores) names.push_back(score.metric);
    return names;
  }

  CheckedPipeline pipeline_;
  Scores scores_{pipeline_};
};

TEST_F(ScoresTest, KeepTheNewestValueAndTheBest) {
  EXPECT_TRUE(scores_.flow_ended("train", 0, "", {{"loss.loss", {3.0, 5}}}));
  EXPECT_TRUE(scores_.flow_ended("train", 1, "", {{"loss.loss", {2.0, 5}}}));
  EXPECT_TRUE(scores_.flow_ended("train", 2, "", {{"loss.loss", {2.0, 5}}}));
  EXPECT_TRUE(scores_.flow_ended("train", 3, "", {{"loss.loss", {2.5, 5}}}));
  const std::vector<Score> list = scores_.list();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].value, 2.5);
  EXPECT_EQ(list[0].epoch, 3);
  EXPECT_EQ(list[0].flow, "train");
  EXPECT_EQ(list[0].better, Better::lower);
  EXPECT_EQ(list[0].best, (Score::Best{2.0, 1})) << "the first of equals";
}

TEST_F(ScoresTest, FlowsThatTrainComeLastAndHeadlinesAsDeclared) {
  scores_.flow_ended("train", 0, "", {{"loss.loss", {3.0, 5}}, {"loss.active", {1.0, 5}}});
  scores_.flow_ended(
      "evaluate", 0, "",
      {{"recall.mrr", {0.5, 1}}, {"recall.none.r@1", {0.25, 1}}, {"recall.all.r@1", {0.3, 1}}});
  EXPECT_THAT(metrics(scores_.list()),
              ElementsAre("recall.all.r@1", "recall.none.r@1", "recall.mrr", "loss.loss"));
  EXPECT_FALSE(scores_.flow_ended("evaluate", 1, "", {{"recall.r@5", {0.5, 1}}}));
  EXPECT_FALSE(scores_.flow_ended("elsewhere", 1, "", {{"recall.mrr", {0.5, 1}}}));
}

TEST_F(ScoresTest, TheMetricThatStopsTheRunComesFirstHeadlineOrNot) {
  pipeline_.spec.schedule.stop_early = StopEarly{"recall.r@5", 3, Goal::highest};
  scores_.flow_ended("evaluate", 0, "", {{"recall.mrr", {0.5, 1}}, {"recall.r@5", {0.7, 1}}});
  EXPECT_THAT(metrics(scores_.list()), ElementsAre("recall.r@5", "recall.mrr"));
  pipeline_.spec.schedule.stop_early = StopEarly{"recall.mrr", 3, Goal::highest};
  Scores scores(pipeline_);
  scores.flow_ended("evaluate", 0, "", {{"recall.mrr", {0.5, 1}}, {"recall.a.r@1", {0.7, 1}}});
  EXPECT_THAT(metrics(scores.list()), ElementsAre("recall.mrr", "recall.a.r@1"));
}

TEST_F(ScoresTest, AStandardErrorIsThatOfOneMeasurement) {
  const auto error_for = [this](const FlowMean& value, const FlowMean& error) {
    Scores scores(pipeline_);
    scores.flow_ended("evaluate", 0, "",
                      {{"recall.mrr", value}, {"recall.mrr.standard_error", error}});
    return scores.list().at(0).standard_error;
  };
  EXPECT_EQ(error_for({0.5, 1}, {0.01, 1}), 0.01);
  EXPECT_EQ(error_for({0.5, 2}, {0.01, 2}), std::nullopt) << "a mean has a different one";
  EXPECT_EQ(error_for({0.5, 1}, {0.01, 2}), std::nullopt);
  EXPECT_EQ(error_for({0.5, 1}, {nan, 1}), std::nullopt);
  EXPECT_EQ(error_for({0.5, 1}, {-0.1, 1}), std::nullopt);
  add("wide", "wide", {{"*", Better::higher}}, false);
  scores_.flow_ended("wide", 0, "", {{"wide.a", {1, 1}}, {"wide.a.standard_error", {1, 1}}});
  EXPECT_THAT(metrics(scores_.list()), ElementsAre("wide.a")) << "an error is not a score";
}

TEST_F(ScoresTest, WhatIsNoNumberIsNeverTheBest) {
  scores_.flow_ended("evaluate", 0, "", {{"recall.mrr", {nan, 1}}});
  EXPECT_EQ(scores_.list().at(0).best, std::nullopt);
  EXPECT_THAT(score_json(scores_.list()),
              AllOf(HasSubstr(R"("value":null)"), HasSubstr(R"("best":null)")));
  scores_.flow_ended("evaluate", 1, "", {{"recall.mrr", {0.5, 1}}});
  scores_.flow_ended("evaluate", 2, "", {{"recall.mrr", {nan, 1}}});
  EXPECT_TRUE(std::isnan(scores_.list().at(0).value));
  EXPECT_EQ(scores_.list().at(0).best, (Score::Best{0.5, 1}));
}

TEST_F(ScoresTest, AreReadBackFromTheMetricsOfARun) {
  pipeline_.spec.stages.back().values["protocol"] = std::string("shop/img64");
  const TemporaryFolder folder;
  Metrics metrics;
  std::string lines;
  const auto flow = [&](const std::string& name, std::int64_t epoch, const std::string& when) {
    lines += metric_lines(metrics.take({"loss", "recall"}, {}), epoch, name, when);
    scores_.flow_ended(name, epoch, when, metrics.last_flow());
  };
  metrics.record("recall", "mrr", 0.125);
  metrics.record("recall", "mrr.standard_error", 0.5);
  flow("evaluate", 0, "before");
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    for (const double value : {0.1, 0.2, 1.0 / 3}) metrics.record("loss", "loss", value / 7);
    if (epoch == 3) metrics.record("loss", "loss", infinity);
    if (epoch == 2) metrics.record("loss", "loss", nan);
    flow("train", epoch, "");
    metrics.record("recall", "mrr", epoch == 1 ? 0.75 : 0.25);
    metrics.record("recall", "a.r@1", 0.5);
    metrics.record("recall", "a.r@1.standard_error", 0.05);
    flow("evaluate", epoch, "");
  }
  const std::uint64_t size = lines.size();
  metrics.record("recall", "mrr", 1.0);
  const std::string later = metric_lines(metrics.take({"recall"}, {}), 4, "evaluate");
  Scores restored(pipeline_);
  restored.restore(folder.write("metrics.jsonl", lines + later), size);
  EXPECT_EQ(score_json(restored.list()), score_json(scores_.list()));
  EXPECT_EQ(restored.list().at(0).standard_error, 0.05);
  EXPECT_EQ(restored.list().at(0).protocol, "shop/img64");
}

TEST_F(ScoresTest, StandBesideChanceAndWhatWasMeasuredBeforeTheEpochs) {
  const auto measure = [this](std::int64_t epoch, const std::string& when, double value) {
    scores_.flow_ended("evaluate", epoch, when,
                       {{"recall.mrr", {value, 1}}, {"recall.mrr.chance", {0.01, 1}}});
  };
  measure(0, "before", 0.125);
  EXPECT_THAT(scores_.list().at(0).beside, ElementsAre(Beside{"chance", 0.01, {}}));
  measure(0, "", 0.5);
  measure(1, "", 0.25);
  EXPECT_THAT(scores_.list().at(0).beside,
              ElementsAre(Beside{"chance", 0.01, {}}, Beside{"before", 0.125, {}}));
  EXPECT_EQ(scores_.list().at(0).best, (Score::Best{0.5, 0}));
}

/// Adds floors to evaluate: `pixels` measures the same as `recall`.
class FloorsTest : public ScoresTest {
 protected:
  FloorsTest() {
    add("floor", "pixels", {{"*.r@1", Better::higher}}, false);
    pipeline_.spec.schedule.floors = {"pixels"};
  }
  /// Values of both stages; the floor's has an error.
  std::vector<Score> measured() {
    Scores scores(pipeline_);
    scores.flow_ended(
        "floor", 0, "before",
        {{"pixels.none.r@1", {0.3, 1}}, {"pixels.none.r@1.standard_error", {0.1, 1}}});
    scores.flow_ended("evaluate", 3, "", {{"recall.none.r@1", {0.5, 1}}});
    lone_ = scores.lone_floors();
    return scores.list();
  }

  std::vector<std::string> lone_;
};

TEST_F(FloorsTest, StandBesideTheScoreAndAreNone) {
  const std::vector<Score> scores = measured();
  EXPECT_THAT(metrics(scores), ElementsAre("recall.none.r@1"));
  EXPECT_THAT(scores.at(0).beside, ElementsAre(Beside{"pixels", 0.3, 0.1}));
  EXPECT_THAT(lone_, IsEmpty());
}

TEST_F(FloorsTest, OfAnotherProtocolOrStageTypeStandBesideNone) {
  StageSpec& floor = pipeline_.spec.stages.back();
  for (const char* use : {"", "test.other"}) {
    floor.use = use;
    floor.values.clear();
    if (floor.use.empty()) floor.values["protocol"] = std::string("another");
    EXPECT_THAT(measured().at(0).beside, IsEmpty());
    EXPECT_THAT(lone_, ElementsAre("pixels"));
  }
}

TEST_F(FloorsTest, OnOtherDataStandBesideNone) {
  add("unused", "other", {}, false);
  pipeline_.spec.stages.back().use = "test.other";
  pipeline_.spec.flows.at(2).nodes = {{"other", {}, {}}, {"pixels", {0}, {}}};
  EXPECT_THAT(measured().at(0).beside, IsEmpty());
  EXPECT_THAT(lone_, ElementsAre("pixels"));
}

TEST_F(FloorsTest, WithAnotherGalleryStandBesideNone) {
  add("unused", "images", {}, false);
  add("fill", "gallery", {}, false);
  pipeline_.spec.flows.back().nodes = {{"images", {}, {}}, {"gallery", {0}, {}}};
  pipeline_.spec.stages.at(1).references["index"] = "gallery";
  EXPECT_EQ(pipeline_.spec.stages.at(1).name, "recall");
  EXPECT_THAT(measured().at(0).beside, IsEmpty());
  EXPECT_THAT(lone_, ElementsAre("pixels"));
  pipeline_.spec.stages.at(2).references["index"] = "gallery";
  EXPECT_THAT(measured().at(0).beside, ElementsAre(Beside{"pixels", 0.3, 0.1}));
}

TEST_F(FloorsTest, OnOtherPairsStandBesideNone) {
  for (const std::size_t flow : {1U, 2U}) {
    const std::string name = flow == 1 ? "pairs" : "floor_pairs";
    pipeline_.stages[name] =
        std::make_unique<StageRunner>(name, "test.drawn", std::make_unique<Drawn>());
    StageSpec spec;
    spec.name = name;
    spec.use = "test.drawn";
    pipeline_.spec.stages.push_back(spec);
    FlowNode measuring = pipeline_.spec.flows.at(flow).nodes.at(0);
    measuring.inputs = {0};
    pipeline_.spec.flows.at(flow).nodes = {{name, {}, {}}, measuring};
  }
  StageSpec& floor_pairs = pipeline_.spec.stages.back();
  floor_pairs.values["threads"] = std::int64_t{2};
  floor_pairs.values["pairs"] = std::string("once");  // as by default
  EXPECT_THAT(measured().at(0).beside, ElementsAre(Beside{"pixels", 0.3, 0.1}));
  floor_pairs.values["pairs"] = std::string("all");
  EXPECT_THAT(measured().at(0).beside, IsEmpty());
  EXPECT_THAT(lone_, ElementsAre("pixels"));
}

TEST(ClearlyBetter, TakesTwoStandardErrorsOfTheDifference) {
  Score score;
  score.value = 0.5;
  EXPECT_TRUE(is_clearly_better(score, {"chance", 0.4, {}}));
  EXPECT_FALSE(is_clearly_better(score, {"chance", 0.5, {}})) << "equal";
  score.standard_error = 0.03;
  EXPECT_TRUE(is_clearly_better(score, {"floor", 0.39, 0.04}));
  EXPECT_FALSE(is_clearly_better(score, {"floor", 0.41, 0.04}));
  score.better = Better::lower;
  EXPECT_TRUE(is_clearly_better(score, {"floor", 0.61, 0.04}));
  EXPECT_FALSE(is_clearly_better(score, {"floor", 0.39, 0.04}));
  score.value = nan;
  EXPECT_FALSE(is_clearly_better(score, {"floor", 0.61, 0.04}));
}

TEST_F(ScoresTest, SayWhatReadsLabelsInTheirFlow) {
  pipeline_.spec.schedule.after = {"train", "evaluate"};
  scores_.flow_ended("train", 0, "", {{"loss.loss", {0.5, 1}}});
  scores_.flow_ended("evaluate", 0, "", {{"recall.none.r@1", {0.6, 1}}});
  for (const Score& score : scores_.list()) {
    const std::vector<LabelRead> in_evaluation{{"evaluate", "recall", "categories"}};
    EXPECT_EQ(score.labels_read,
              score.flow == "evaluate" ? in_evaluation : std::vector<LabelRead>{});
  }
}

TEST_F(ScoresTest, AFlowThatRunsTwiceInARowIsTwoFlows) {
  const TemporaryFolder folder;
  Metrics metrics;
  std::string lines;
  for (const double value : {0.75, 0.25}) {
    metrics.record("recall", "mrr", value);
    lines += metric_lines(metrics.take({"recall"}, {}), 0, "evaluate");
  }
  scores_.restore(folder.write("metrics.jsonl", lines), lines.size());
  EXPECT_EQ(scores_.list().at(0).value, 0.25);
  EXPECT_EQ(scores_.list().at(0).best, (Score::Best{0.75, 0}));
}

TEST(ScoreFile, SaysWhatItsFormatIs) {
  Score score;
  score.metric = "recall.none.r@1";
  score.value = 0.66;
  score.standard_error = 0.02;
  score.flow = "evaluate";
  score.epoch = 12;
  score.best = {0.67, 8};
  score.protocol = "inshop-subset/img64";
  EXPECT_EQ(score_json({score}),
            R"({"format":1,"scores":[{"metric":"recall.none.r@1","value":0.66,)"
            R"("standard_error":0.02,"better":"higher","flow":"evaluate","epoch":12,)"
            R"("best":{"value":0.67,"epoch":8},"protocol":"inshop-subset/img64",)"
            R"("selected_on":"last"}]})"
            "\n");
  const TemporaryFolder folder;
  Score other;
  other.metric = "loss.loss";
  other.better = Better::lower;
  other.when = "after";
  other.beside = {{"chance", 0.25, {}}, {"pixel_recall", 0.5, 0.125}};
  other.labels_read = {{other.flow, "search", "categories"}};
  other.untrained = {{other.flow, "search", "predicted_category", "model", "class_lengths"}};
  other.selected_on = SelectedOn::test;
  other.weights = {{"model", "epoch-9.safetensors", "evaluate:recall.r@1", "", SelectedOn::test},
                   {"head", "epoch-2.safetensors", "", "", SelectedOn::unknown}};
  EXPECT_EQ(read_scores(folder.write("score.json", score_json({score, other}))),
            (std::vector<Score>{score, other}));
  EXPECT_THAT(read_scores(folder.write("score.json", score_json({}))), IsEmpty());
  std::string older = score_json({score});
  older.erase(older.find(R"(,"selected_on")"), std::string(R"(,"selected_on":"last")").size());
  EXPECT_EQ(read_scores(folder.write("score.json", older)).at(0).selected_on, SelectedOn::unknown)
      << "written by an earlier version";
}

TEST(ScoreFile, ThatIsNoneIsRefused) {
  const TemporaryFolder folder;
  for (const char* text : {"", "[]", "{}", R"({"format":2,"scores":[]})", R"({"format":1})",
                           R"({"scores":[]})", R"({"format":1,"scores":[{"metric":"a"}]})",
                           R"({"format":1,"scores":[{"metric":"m","better":"up"}]})",
                           R"({"format":1,"scores":[{"better":"higher"}]})"}) {
    const auto file = folder.write("score.json", text);
    EXPECT_REFUSED(static_cast<void>(read_scores(file)), Fault::data,
                   "score.json' is not a valid score.json")
        << text;
  }
  EXPECT_REFUSED(static_cast<void>(read_scores(folder.path() / "missing.json")), Fault::data,
                 "cannot open '");
}

}  // namespace seam::host::scores_test
