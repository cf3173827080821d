#include "pipeline/experiments/comparison_data.hpp"

#include "pipeline/experiments/comparison_text.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::comparison_data_test {

using ::testing::Pair;

class CompareRuns : public ::testing::Test {
 protected:
  /// A complete training on the list a.csv, whose content has this hash; empty: not recorded.
  RunFolder run(const std::string& name, const std::string& seed, const std::string& hash) const {
    folder_.write(
        name + "/metrics.jsonl",
        R"({"epoch":0,"flow":"evaluate","stage":"recall","name":"r@1","step":0,"value":1})"
        "\n");
    RunFolder made;
    made.path = folder_.path() / name;
    made.name = name;
    made.state = RunState::complete;
    made.roles = Roles(Roles::Texts{{"pipeline.seed", "replicate"}});
    made.parameters = {{"flow.train", "\"items -> model\""},
                       {"flow.evaluate", "\"queries -> model -> recall\""},
                       {"stage.items.table", "\"a.csv\""},
                       {"pipeline.seed", seed}};
    if (!hash.empty()) made.parameters["stage.items.table (content)"] = hash;
    return made;
  }
  /// An evaluation of "first".
  RunFolder evaluation(const std::string& name, const std::string& hash) const {
    RunFolder made = run(name, "1", hash);
    made.parameters[std::string(evaluates_key)] = "first/epoch-1.safetensors";
    return made;
  }
  static Comparison compared(const std::vector<RunFolder>& runs) {
    ComparisonChoice choice;
    choice.metric = "recall.r@1";
    choice.better = Better::higher;
    return compare_runs(runs, choice);
  }
  static std::vector<Ranking> rankings(const std::vector<RunFolder>& runs) {
    return compared(runs).rankings;
  }
  static std::size_t groups(const std::vector<RunFolder>& runs) {
    return rankings(runs).at(0).groups.size();
  }

  test::TemporaryFolder folder_;
  RunFolder first_ = run("first", "1", "1f");
  RunFolder second_ = run("second", "2", "2f");
};

TEST_F(CompareRuns, ARunIsNotRankedIfItsMetricsLackAnyOfItsScores) {
  folder_.write("second/score.json",
                R"({"format":1,"scores":[{"metric":"recall.r@5","value":1,"standard_error":null,)"
                R"("better":"higher","flow":"evaluate","epoch":0,"best":null,"protocol":null}]})");
  const Comparison comparison = compared({first_, second_});
  EXPECT_EQ(comparison.rankings.at(0).groups.size(), 1U);
  ASSERT_EQ(comparison.unranked.size(), 1U);
  EXPECT_EQ(comparison.unranked[0].name, "second");
  EXPECT_THAT(comparison.unranked[0].why, HasSubstr("lacks values that score.json has"));
}

TEST_F(CompareRuns, ARunThatLostPacketsBeforeItsLastProcessIsRankedApart) {
  StageCount queries;
  queries.kind = StageKind::source;
  queries.emitted = 8;
  FlowTotal evaluate;
  evaluate.flow = "evaluate";
  evaluate.times = 1;
  evaluate.stages = {queries};
  first_.flows = {evaluate};
  EXPECT_EQ(rankings({first_, second_}).size(), 1U) << "the second one lost none";
  second_.skipped_packets = 2;
  EXPECT_EQ(rankings({first_, second_}).size(), 2U);
  first_.skipped_packets = 2;
  EXPECT_EQ(rankings({first_, second_}).size(), 2U) << "the first one did not lose them there";
  second_.flows = first_.flows;
  EXPECT_EQ(rankings({first_, second_}).size(), 1U);
}

TEST_F(CompareRuns, TrainedOnDifferentContentsAreDifferentAlsoNextToAnEvaluation) {
  EXPECT_EQ(groups({first_, second_, evaluation("evaluation", "1f")}), 2U);
  // Of an earlier version, which did not record the content of files that only training reads.
  EXPECT_EQ(groups({first_, second_, evaluation("evaluation", "")}), 2U);
}

TEST_F(CompareRuns, ContentsAreOmittedOnlyIfAnEarlierVersionRecordedNone) {
  RunFolder other = run("other", "3", "");  // it has the stage, but does not schedule its flow
  EXPECT_EQ(groups({first_, second_, other}), 3U);
  other.parameters["stage.loss.table (content)"] = "3f";
  EXPECT_EQ(groups({first_, second_, other}), 3U);

  RunFolder planned;  // of a sweep
  planned.parameters = {{"stage.items.table", "\"a.csv\""}};
  EXPECT_EQ(groups({first_, second_, planned}), 2U);
  planned.state = RunState::interrupted;
  EXPECT_EQ(groups({first_, second_, planned}), 2U);

  RunFolder earlier = run("earlier", "3", "");
  earlier.roles = Roles();
  EXPECT_EQ(groups({first_, second_, earlier}), 1U);
}

TEST_F(CompareRuns, DataSetsThatListOtherImagesAreDifferent) {
  first_ = run("first", "1", "1f");
  second_ = run("second", "2", "1f");
  for (RunFolder* one : {&first_, &second_}) one->parameters["stage.queries.root"] = "\"q\"";
  const auto list = [](RunFolder& run, std::uint64_t items, std::uint64_t queries) {
    run.listings = Listings{{"items", items}, {"queries", queries}};
  };
  list(first_, 1, 1);
  EXPECT_EQ(groups({first_, second_}), 1U) << "an earlier version did not record it";
  list(second_, 1, 1);
  EXPECT_EQ(groups({first_, second_}), 1U);
  list(second_, 2, 1);
  const std::vector<Ranking> trained_on_other = rankings({first_, second_});
  ASSERT_EQ(trained_on_other.size(), 1U);
  ASSERT_EQ(trained_on_other[0].groups.size(), 2U);
  EXPECT_THAT(trained_on_other[0].groups[0].parameters,
              ElementsAre(Pair("stage.items (listing)", "0000000000000001")));
  list(second_, 1, 2);
  const std::vector<Ranking> measured_on_other = rankings({first_, second_});
  ASSERT_EQ(measured_on_other.size(), 2U);
  EXPECT_THAT(measured_on_other[1].data,
              ElementsAre(Pair("stage.queries (listing)", "0000000000000002")));
  second_.parameters["stage.queries.root"] = "\"other\"";
  EXPECT_THAT(rankings({first_, second_}).at(1).data,
              ElementsAre(Pair("stage.queries.root", "\"other\"")))
      << "the parameter alone explains it";
}

TEST_F(CompareRuns, AListDoesNotDependOnTheFoldThatIsServed) {
  std::vector<RunFolder> runs{run("first", "1", "1f"), run("second", "1", "1f")};
  for (RunFolder& one : runs) {
    one.roles =
        Roles(Roles::Texts{{"pipeline.seed", "replicate"}, {"stage.queries.fold", "replicate"}});
    one.listings = Listings{{"queries", 1}};
  }
  runs[0].parameters["stage.queries.fold"] = "0";
  runs[1].parameters["stage.queries.fold"] = "1";
  runs[0].parameters["stage.queries.root"] = runs[1].parameters["stage.queries.root"] = "\"q\"";
  EXPECT_EQ(rankings(runs).size(), 1U);
  runs[1].listings = Listings{{"queries", 2}};
  EXPECT_EQ(rankings(runs).size(), 2U);
}

TEST_F(CompareRuns, EvaluationsOfTheBestAndOfTheLastCheckpointAreRankedSeparately) {
  RunFolder best = evaluation("best", "1f");
  RunFolder last = evaluation("last", "1f");
  last.parameters["pipeline.seed"] = "2";
  EXPECT_EQ(rankings({best, last}).size(), 1U) << "neither recorded it";
  best.weights = "best by evaluate:recall.r@1";
  last.weights = "last";
  const std::vector<Ranking> separate = rankings({best, last});
  ASSERT_EQ(separate.size(), 2U);
  EXPECT_THAT(separate[0].data, ElementsAre(Pair("weights", "best by evaluate:recall.r@1")));
}

TEST(NoteData, IsOfTheFlowThatMeasuresAndOfWhatItRefersTo) {
  RunFolder run;
  run.parameters = {{"flow.train", "\"train_items -> resize -> model -> loss\""},
                    {"flow.gallery", "\"gallery_items -> embed -> index\""},
                    {"flow.evaluate", "\"query_items -> measure\""},
                    {"path.embed", "\"resize -> model\""},
                    {"path.measure", "\"embed -> search -> {recall, neighbours}\""},
                    {"stage.resize.height", "64"},
                    {"stage.recall.lone_queries", "\"miss\""},
                    {"stage.recall.fold", "1"},
                    {"stage.recall.trained_on", "\"train_items\""},
                    {"stage.recall.concurrency", "2"},
                    {"stage.train_items.use", "\"dataset.folder\""},
                    {"stage.train_items.limit", "10"},
                    {"stage.gallery_items.use", "\"dataset.folder\""},
                    {"stage.gallery_items.root", "\"g\""},
                    {"stage.gallery_items.threads", "2"},
                    {"stage.query_items.use", "\"dataset.folder\""},
                    {"stage.query_items.fold", "1"},
                    {"stage.index.use", "\"retrieval.index\""},
                    {"stage.search.use", "\"retrieval.search\""},
                    {"stage.search.index", "\"index\""}};
  FlowTotal evaluate;
  evaluate.flow = "evaluate";
  evaluate.times = 3;
  StageCount source;
  source.kind = StageKind::source;
  source.emitted = 30;
  StageCount decode;
  decode.failed = 6;
  evaluate.stages = {source, decode};
  run.flows = {evaluate};
  ScoredRun scored;
  note_data(run, "evaluate", "recall", scored);
  EXPECT_THAT(scored.data, ElementsAre(Pair("stage.gallery_items.root", "\"g\""),
                                       Pair("stage.gallery_items.use", "\"dataset.folder\""),
                                       Pair("stage.index.use", "\"retrieval.index\""),
                                       Pair("stage.query_items.use", "\"dataset.folder\""),
                                       Pair("stage.recall.fold", "one of the folds"),
                                       Pair("stage.recall.lone_queries", "\"miss\""),
                                       Pair("stage.recall.trained_on", "\"train_items\""),
                                       Pair("stage.search.index", "\"index\""),
                                       Pair("stage.search.use", "\"retrieval.search\"")));
  EXPECT_THAT(scored.counts, ElementsAre(Pair("lost packets of evaluate, fold 1", "2"),
                                         Pair("packets of evaluate, fold 1", "10")));
}

TEST(NoteData, SettingsCountByTheRolesOfTheirStages) {
  RunFolder run;
  run.parameters = {{"flow.train", "\"train_items -> model\""},
                    {"flow.evaluate", "\"query_items -> model -> {recall, album, atlas}\""},
                    {"stage.query_items.part", "1"},
                    {"stage.query_items.lanes", "2"},
                    {"stage.recall.part", "1"},
                    {"stage.album.use", "\"acme.album\""},
                    {"stage.album.k", "5"},
                    {"stage.atlas.use", "\"report.atlas\""}};
  run.roles = Roles(Roles::Texts{{"stage.query_items.part", "replicate"},
                                 {"stage.query_items.lanes", "same_results"},
                                 {"stage.recall.part", "replicate"},
                                 {"stage.album", "only_writes"}});
  ScoredRun scored;
  note_data(run, "evaluate", "recall", scored);
  EXPECT_THAT(scored.data, ElementsAre(Pair("stage.atlas.use", "\"report.atlas\""),
                                       Pair("stage.recall.part", "one of the folds")));
}

/// `pixels` embeds without training.
RunFolder baseline() {
  RunFolder run;
  run.parameters = {{"flow.gallery", "\"gallery_items -> batch -> pixels -> gallery\""},
                    {"flow.evaluate", "\"query_items -> batch -> pixels -> search -> recall\""},
                    {"stage.batch.use", "\"batch\""},
                    {"stage.batch.size", "16"},
                    {"stage.gallery.use", "\"retrieval.index\""},
                    {"stage.gallery_items.split", "\"gallery\""},
                    {"stage.pixels.size", "8"},
                    {"stage.query_items.split", "\"query\""},
                    {"stage.recall.lone_queries", "\"miss\""},
                    {"stage.search.index", "\"gallery\""}};
  return run;
}

Parameters data_of(const RunFolder& run, const std::string& flow = "evaluate",
                   const std::string& stage = "recall") {
  ScoredRun scored;
  note_data(run, flow, stage, scored);
  return scored.data;
}

TEST(NoteData, OnlyAReferenceNamesAStage) {
  RunFolder run = baseline();
  run.parameters["flow.train"] = "\"train_items -> batch -> pixels -> adam\"";
  run.parameters["stage.train_items.limit"] = "10";
  // Of an earlier version: "batch" is the use of stage 'batch', in all flows.
  EXPECT_THAT(data_of(run), Not(Contains(Pair("stage.train_items.limit", "10"))));
  EXPECT_THAT(data_of(run), Contains(Pair("stage.recall.lone_queries", "\"miss\"")));
  run.parameters["flow.train"] = "\"train_items -> batch -> pixels -> query\"";
  run.parameters["stage.query.use"] = "\"train.adam\"";  // the name of a split
  run.roles = Roles(Roles::Texts{{"stage.search.index", "reference"}});
  EXPECT_THAT(data_of(run), Not(Contains(Pair("stage.train_items.limit", "10"))));
  EXPECT_THAT(data_of(run), Contains(Pair("stage.gallery_items.split", "\"gallery\"")));
}

TEST(NoteData, WithoutATrainingStagesAfterTheSharedOnesMeasure) {
  const Parameters measured = data_of(baseline());
  EXPECT_THAT(measured, ElementsAre(Pair("stage.gallery.use", "\"retrieval.index\""),
                                    Pair("stage.gallery_items.split", "\"gallery\""),
                                    Pair("stage.query_items.split", "\"query\""),
                                    Pair("stage.recall.lone_queries", "\"miss\""),
                                    Pair("stage.search.index", "\"gallery\"")));
  RunFolder model = baseline();  // it is compared with the baseline
  model.parameters["flow.train"] = "\"train_items -> batch -> pixels -> adam\"";
  model.parameters["stage.adam.use"] = "\"train.adam\"";
  EXPECT_EQ(data_of(model), measured);
}

TEST(NoteData, AnotherMeasurementWithTheSameStagesIsNotShared) {
  RunFolder run = baseline();
  const Parameters measured = data_of(run);
  run.parameters["flow.again"] = run.parameters["flow.evaluate"];
  EXPECT_EQ(data_of(run), measured);
  run.parameters["flow.train"] = "\"train_items -> batch -> pixels -> adam\"";
  run.parameters["stage.adam.use"] = "\"train.adam\"";
  EXPECT_EQ(data_of(run), measured);
}

TEST(NoteData, ASearchCountsAlsoIfAnotherMeasurementSharesIt) {
  RunFolder run = baseline();
  run.parameters["stage.search.exclude_self"] = "false";
  run.parameters["stage.rerank.k"] = "5";
  run.parameters["flow.evaluate"] =
      "\"query_items -> batch -> pixels -> search -> rerank -> recall\"";
  const Parameters measured = data_of(run);
  EXPECT_THAT(measured, Contains(Pair("stage.search.exclude_self", "false")));
  run.parameters["flow.second"] =
      "\"second_items -> batch -> pixels -> search -> rerank -> second_recall\"";
  EXPECT_EQ(data_of(run), measured);
  run.parameters["flow.train"] = "\"train_items -> batch -> pixels -> adam\"";
  run.parameters["stage.adam.use"] = "\"train.adam\"";
  EXPECT_EQ(data_of(run), measured);
}

TEST(NoteData, SamplersOfAnEvaluationCountAndBatchesDoNot) {
  RunFolder run;
  run.parameters = {{"flow.evaluate", "\"items -> pairs -> batch -> pixels -> verification\""},
                    {"stage.batch.size", "16"},
                    {"stage.pairs.list", "\"/here/pairs.csv\""},
                    {"stage.pairs.list (content)", "1f"},
                    {"stage.pairs.pairs", "\"list\""},
                    {"stage.verification.metric", "\"cosine\""}};
  run.roles = Roles(Roles::Texts{{"stage.pairs", "samples"}, {"stage.pairs.list", "path"}});
  const Parameters measured = data_of(run, "evaluate", "verification");
  EXPECT_THAT(measured, ElementsAre(Pair("stage.pairs.list (content)", "1f"),
                                    Pair("stage.pairs.pairs", "\"list\""),
                                    Pair("stage.verification.metric", "\"cosine\"")));
  run.parameters["stage.adam.use"] = "\"train.adam\"";
  run.parameters["flow.train"] = "\"train_items -> pairs -> batch -> pixels -> adam\"";
  EXPECT_EQ(data_of(run, "evaluate", "verification"), measured) << "also if training shares it";
  EXPECT_THAT(data_of(run, "train", "adam"), Not(Contains(Pair("stage.pairs.pairs", "\"list\""))));
}

TEST(NoteData, AStageOfTheOnlyFlowMeasuresUnlessItTrains) {
  RunFolder run;
  run.parameters = {{"flow.main", "\"items -> pixels -> verification\""},
                    {"stage.pixels.size", "8"},
                    {"stage.verification.metric", "\"cosine\""}};
  EXPECT_THAT(data_of(run, "main", "verification"),
              ElementsAre(Pair("stage.verification.metric", "\"cosine\"")));
  run.parameters["flow.main"] = "\"items -> pixels -> verification -> adam\"";
  run.parameters["stage.adam.use"] = "\"train.adam\"";
  EXPECT_THAT(data_of(run, "main", "verification"), IsEmpty());
}

TEST(NoteData, AFileCountsByItsContentInsteadOfItsPath) {
  RunFolder run = baseline();
  run.parameters["stage.query_items.root"] = "\"/here\"";
  run.parameters["stage.query_items.list"] = "\"list.txt\"";
  const auto paths = [&run] {
    const Parameters data = data_of(run);
    return data.count("stage.query_items.root") + data.count("stage.query_items.list");
  };
  EXPECT_EQ(paths(), 2U);
  run.parameters["stage.query_items.list (content)"] = "1f";
  EXPECT_EQ(paths(), 0U);
  EXPECT_THAT(data_of(run), Contains(Pair("stage.query_items.list (content)", "1f")));
  run.roles = Roles(Roles::Texts{{"stage.query_items.list", "path"}});
  EXPECT_EQ(paths(), 1U) << "'root' is not a path";
}

}  // namespace seam::host::comparison_data_test
