#include "pipeline/experiments/comparison.hpp"

#include <cmath>

#include "pipeline/experiments/comparison_data.hpp"
#include "pipeline/experiments/comparison_text.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::comparison_test {

using ::testing::ContainsRegex;
using ::testing::Pair;

ScoredRun scored(const std::string& margin, int seed, double value) {
  ScoredRun run;
  run.name = "margin=" + margin + ",seed=" + std::to_string(seed);
  run.parameters = {{"stage.loss.margin", margin},
                    {"pipeline.seed", std::to_string(seed)},
                    {"pipeline.name", "\"" + margin + "\""},
                    {"limits.packets", std::to_string(seed)},
                    {"stage.loss.weight", "1"}};
  run.data = {{"stage.query.root", "\"data\""}};
  run.value = value;
  return run;
}

class Ranks : public ::testing::Test {
 protected:
  std::vector<Ranking> rank(Better better = Better::higher) {
    return host::rank(runs_, better, unranked_);
  }
  std::string text(Better better = Better::higher) {
    Comparison comparison;
    comparison.metric = "recall.r@1";
    comparison.better = better;
    comparison.rankings = rank(better);
    comparison.unranked = unranked_;
    return to_text(comparison, std::nullopt);
  }

  std::vector<ScoredRun> runs_;
  std::vector<Unranked> unranked_;
};

TEST_F(Ranks, GroupsByWhatDiffersAndPairsBySeed) {
  runs_ = {scored("0.2", 1, 0.50), scored("0.2", 2, 0.54), scored("0.2", 3, 0.58),
           scored("0.5", 3, 0.66), scored("0.5", 2, 0.60), scored("0.5", 1, 0.60)};
  const std::vector<Ranking> rankings = rank();
  ASSERT_EQ(rankings.size(), 1U);
  ASSERT_EQ(rankings[0].groups.size(), 2U);
  const Group& best = rankings[0].groups[0];
  const Group& other = rankings[0].groups[1];
  EXPECT_THAT(best.parameters, ElementsAre(Pair("stage.loss.margin", "0.5")));
  EXPECT_NEAR(best.mean, 0.62, 1e-12);
  EXPECT_FALSE(best.difference);
  EXPECT_NEAR(other.mean, 0.54, 1e-12);
  EXPECT_NEAR(other.deviation.value(), 0.04, 1e-12);
  // By seed: -0.10, -0.06, -0.08: mean -0.08, deviation 0.02; 4.302653 * 0.02 / sqrt(3).
  ASSERT_TRUE(other.difference);
  EXPECT_EQ(other.difference->pairs, 3U);
  EXPECT_NEAR(other.difference->mean, -0.08, 1e-12);
  EXPECT_NEAR(other.difference->bounds.value().low, -0.08 - 0.0496828, 1e-6);
  EXPECT_NEAR(other.difference->bounds.value().high, -0.08 + 0.0496828, 1e-6);
  EXPECT_THAT(unranked_, IsEmpty());
}

TEST_F(Ranks, VariantsAreShownByName) {
  runs_ = {scored("0.2", 1, 0.50), scored("0.5", 1, 0.60), scored("0.9", 1, 0.70)};
  const std::vector<std::string> names{"triplet", "arcface", "arcface"};
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    Parameters& parameters = runs_[at].parameters;
    parameters["variant.loss"] = names[at];
    parameters["chosen.variants"] = "\"loss=" + names[at] + "\"";
    parameters["chosen.decides"] = "\"stage.loss\"";
    parameters["stage.loss.use"] = "\"loss." + names[at] + "\"";
  }
  const ScoredRun other = runs_.back();
  runs_.pop_back();
  EXPECT_THAT(rank()[0].groups[0].parameters, ElementsAre(Pair("variant.loss", "arcface")));
  runs_.push_back(other);  // the same variant with another margin
  const Ranking ranking = rank()[0];
  ASSERT_EQ(ranking.groups.size(), 3U);
  EXPECT_THAT(ranking.groups[0].parameters,
              ElementsAre(Pair("stage.loss.margin", "0.9"), Pair("variant.loss", "arcface")));
}

TEST_F(Ranks, FilesAreNamedInsteadOfWhatTheyDecide) {
  runs_ = {scored("0.2", 1, 0.50), scored("0.2", 2, 0.52), scored("0.5", 1, 0.60)};
  for (ScoredRun& run : runs_) run.file = "/p/a.toml";
  EXPECT_THAT(rank()[0].groups[0].parameters, ElementsAre(Pair("stage.loss.margin", "0.5")));
  runs_[2].file = "/p/b.toml";
  const Ranking ranking = rank()[0];
  ASSERT_EQ(ranking.groups.size(), 2U);
  EXPECT_THAT(ranking.groups[0].parameters, ElementsAre(Pair("file", "b")));
  EXPECT_THAT(ranking.groups[1].parameters, ElementsAre(Pair("file", "a")));
  EXPECT_EQ(ranking.groups[1].members.size(), 2U);
  EXPECT_THAT(ranking.by_files, ElementsAre("stage.loss.margin"));
  EXPECT_THAT(text(), HasSubstr("the files differ in stage.loss.margin\n"));
  runs_[2].parameters["from"] = "a/epoch-2.safetensors";  // the checkpoint it started from
  EXPECT_THAT(rank()[0].groups[0].parameters,
              ElementsAre(Pair("file", "b"), Pair("from", "a/epoch-2.safetensors")));
  runs_[2].parameters.erase("from");
  runs_[2].parameters["stage.items.list (content)"] = "1f";  // an edited list
  EXPECT_THAT(rank()[0].groups[0].parameters,
              ElementsAre(Pair("file", "b"), Pair("stage.items.list (content)", "1f")));
  runs_[2].parameters.erase("stage.items.list (content)");
  runs_[2].parameters["chosen.set"] = "[\"stage.loss.margin\"]";  // the file does not decide it
  EXPECT_THAT(rank()[0].groups[0].parameters,
              ElementsAre(Pair("file", "b"), Pair("stage.loss.margin", "0.5")));
  runs_[2].parameters.erase("chosen.set");
  runs_.push_back(scored("0.9", 1, 0.7));  // the file was edited
  runs_[3].file = "/p/b.toml";
  EXPECT_THAT(rank()[0].groups[0].parameters,
              ElementsAre(Pair("file", "b"), Pair("stage.loss.margin", "0.9")));
}

TEST_F(Ranks, FilesOfOneNameAreNamedWithTheirFolders) {
  runs_ = {scored("0.2", 1, 0.50), scored("0.5", 1, 0.60)};
  runs_[0].file = "/p/a.toml";
  runs_[1].file = "/q/a.toml";
  EXPECT_THAT(rank()[0].groups[0].parameters, ElementsAre(Pair("file", "/q/a.toml")));
}

TEST_F(Ranks, FurtherMetricsStandNextToIt) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 2, 0.52), scored("0.5", 1, 0.6)};
  const std::vector<double> values{0.7, 0.8, 0.9};
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    runs_[at].beside = {{"chance", 0.01, {}}};
    runs_[at].further = {values[at]};
    runs_[at].further_beside = {{{"chance", 0.1, {}}, {"pixels", values[at] / 2, {}}}};
  }
  Comparison comparison;
  comparison.metric = "recall.r@1";
  comparison.further = {"recall.r@20"};
  comparison.rankings = rank();
  const std::string table = to_text(comparison, 120);
  EXPECT_THAT(table, HasSubstr("recall.r@20\n"));
  EXPECT_THAT(table, HasSubstr("0.9000\n"));
  EXPECT_THAT(table, HasSubstr("0.7500 ± 0.0500\n"));
  EXPECT_THAT(
      table,
      HasSubstr("for comparison: chance 0.0100\n"
                "for comparison with recall.r@20: chance 0.1000, pixels 0.3500 to 0.4500\n"));
  const std::string csv = to_csv(comparison);
  EXPECT_THAT(csv, HasSubstr("low,high,pairs,beside.chance.low,beside.chance.high,recall.r@20.mean,"
                             "recall.r@20.standard_deviation,recall.r@20.standard_error,"
                             "recall.r@20.beside.chance.low,recall.r@20.beside.chance.high,"
                             "recall.r@20.beside.pixels.low,recall.r@20.beside.pixels.high,epoch,"
                             "biased_upwards\r\n"));
  EXPECT_THAT(csv, HasSubstr(",0.01,0.01,0.9,,,0.1,0.1,0.35,0.45,last,false\r\n"));
  EXPECT_THAT(to_json(comparison), AllOf(HasSubstr(R"("further":["recall.r@20"])"),
                                         HasSubstr(R"("further":[{"mean":0.9,)"),
                                         HasSubstr(R"("further_beside":[{"chance":)")));
}

TEST_F(Ranks, LowerMayBeBetter) {
  runs_ = {scored("0.2", 1, 3), scored("0.5", 1, 2)};
  EXPECT_EQ(rank(Better::lower)[0].groups[0].mean, 2);
  EXPECT_EQ(rank(Better::higher)[0].groups[0].mean, 3);
}

TEST_F(Ranks, OneSeedHasNoDeviationAndNoInterval) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.5", 1, 0.6)};
  const Group other = rank()[0].groups[1];
  EXPECT_FALSE(other.deviation);
  EXPECT_EQ(other.difference->pairs, 1U);
  EXPECT_FALSE(other.difference->bounds);
  EXPECT_THAT(text(), AllOf(Not(HasSubstr("0.0000")), Not(HasSubstr("["))));
}

TEST_F(Ranks, RunsWithoutACommonSeedAreNotPaired) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.5", 2, 0.6)};
  EXPECT_EQ(rank()[0].groups[1].difference->pairs, 0U);
  EXPECT_THAT(text(), HasSubstr("unpaired"));
}

TEST_F(Ranks, OnlyCommonSeedsArePaired) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 2, 0.5), scored("0.2", 4, 0.5),
           scored("0.5", 1, 0.6), scored("0.5", 2, 0.7), scored("0.5", 3, 0.8)};
  EXPECT_EQ(rank()[0].groups[1].difference->pairs, 2U);
  EXPECT_THAT(text(), HasSubstr("of 2 pairs"));
}

TEST_F(Ranks, NotANumberIsLastWithANote) {
  runs_ = {scored("0.2", 1, std::nan("")), scored("0.2", 2, 0.9), scored("0.5", 1, 0.1),
           scored("1", 1, -HUGE_VAL)};
  const std::vector<Group> groups = rank()[0].groups;
  EXPECT_EQ(groups[0].parameters.at("stage.loss.margin"), "0.5");
  EXPECT_TRUE(std::isnan(groups[1].mean));
  EXPECT_TRUE(std::isnan(groups[2].mean));
  EXPECT_FALSE(groups[1].difference);
  EXPECT_THAT(text(), AllOf(HasSubstr("margin=0.2,seed=1 has the score NaN"),
                            HasSubstr("margin=1,seed=1 has the score -inf")));
}

TEST_F(Ranks, DataThatDiffersIsRankedApart) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.5", 1, 0.6), scored("1", 1, 0.99)};
  runs_[2].data["stage.query.root"] = "\"easy\"";
  const std::vector<Ranking> rankings = rank();
  ASSERT_EQ(rankings.size(), 2U);
  EXPECT_EQ(rankings[0].groups.size(), 2U);
  EXPECT_THAT(rankings[1].data, ElementsAre(Pair("stage.query.root", "\"easy\"")));
  EXPECT_THAT(text(), AllOf(HasSubstr("ranked separately"), HasSubstr("stage.query.root: \"data\""),
                            HasSubstr("stage.query.root: \"easy\"")));
}

TEST_F(Ranks, AProtocolThatDiffersIsRankedApart) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.5", 1, 0.6)};
  runs_[0].data["protocol"] = "inshop/img64";
  EXPECT_EQ(rank().size(), 2U);
}

TEST_F(Ranks, AnotherNumberOfQueriesIsRankedApartUnlessTheFoldDiffers) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.5", 1, 0.6)};
  runs_[0].counts = {{"packets of evaluate", "10"}};
  runs_[1].counts = {{"packets of evaluate", "11"}};
  EXPECT_EQ(rank().size(), 2U);
  runs_[0].counts = {{"packets of evaluate, fold 0", "10"}};
  runs_[1].counts = {{"packets of evaluate, fold 1", "11"}};
  EXPECT_EQ(rank().size(), 1U);
}

TEST_F(Ranks, FoldsAreRepetitions) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 1, 0.7)};
  runs_[0].parameters["stage.query.fold"] = "0";
  runs_[1].parameters["stage.query.fold"] = "1";
  ASSERT_EQ(rank()[0].groups.size(), 1U);
  EXPECT_NEAR(rank()[0].groups[0].deviation.value(), 0.1414214, 1e-6);
  EXPECT_NEAR(rank()[0].groups[0].standard_error.value(), 0.1, 1e-12);
}

TEST_F(Ranks, SeedsOfAFoldAreNoFurtherObservations) {
  for (const auto& [fold, value] : std::map<std::string, double>{{"0", 0.8}, {"1", 0.6}}) {
    for (const int seed : {1, 2, 3}) {
      ScoredRun run = scored("0.2", seed, value + 0.01 * (seed - 2));
      run.parameters["stage.items.fold"] = fold;
      runs_.push_back(run);
    }
  }
  runs_.pop_back();  // one fold lacks a seed, but has the same weight
  const Group group = rank().at(0).groups.at(0);
  EXPECT_EQ(group.members.size(), 5U);
  EXPECT_EQ(group.observations, 2U);
  EXPECT_NEAR(group.mean, (0.8 + 0.595) / 2, 1e-12);
  EXPECT_NEAR(group.deviation.value(), 0.205 / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(group.standard_error.value(), 0.205 / 2, 1e-12);
  EXPECT_THAT(text(), HasSubstr("are over folds; each fold counts as the mean over its seeds"));
}

TEST_F(Ranks, AFoldIsNoRepetitionOfAllFolds) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 2, 0.6), scored("0.2", 3, 0.7)};
  runs_[1].parameters["stage.items.leave_out_fold"] = "0";
  runs_[2].parameters["stage.items.leave_out_fold"] = "1";
  const std::vector<Group> groups = rank().at(0).groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].members.size(), 2U);
  EXPECT_EQ(groups[0].parameters.at("stage.items.leave_out_fold"), "one of the folds");
  EXPECT_EQ(groups[1].parameters.at("stage.items.leave_out_fold"), "not set");
}

TEST_F(Ranks, SeedsOfAFoldAreOnePair) {
  for (const int fold : {0, 1}) {
    for (const int seed : {1, 2, 3}) {
      for (const char* margin : {"0.2", "0.5"}) {
        const double better = margin[2] == '5' ? 0.02 + 0.04 * fold : 0;
        ScoredRun run = scored(margin, seed, 0.5 + 0.01 * seed + better);
        run.parameters["stage.items.fold"] = std::to_string(fold);
        runs_.push_back(run);
      }
    }
  }
  const std::vector<Ranking> rankings = rank();
  const DifferenceToBest difference = rankings.at(0).groups.at(1).difference.value();
  EXPECT_EQ(difference.pairs, 2U);
  EXPECT_NEAR(difference.mean, -0.04, 1e-12);
  // -0.02 and -0.06: deviation 0.0282843, 12.7062 * 0.0282843 / sqrt(2)
  EXPECT_NEAR(difference.bounds.value().high, -0.04 + 0.254124, 1e-5);
}

TEST_F(Ranks, DataThatIsNotCutHasNoFold) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.5", 1, 0.6)};
  runs_[0].parameters["stage.query.fold"] = "0";
  runs_[0].parameters["stage.query.folds"] = "1";
  EXPECT_EQ(rank()[0].groups[1].difference->pairs, 1U);
}

TEST_F(Ranks, WhatAStageDeclaresAsReplicateIsAveraged) {
  for (const int part : {0, 1, 2}) {
    ScoredRun run = scored("0.2", 1, 0.5 + 0.1 * part);
    run.name = std::to_string(part);
    run.parameters["stage.items.part"] = std::to_string(part);
    run.parameters["stage.items.lanes"] = std::to_string(part);
    run.roles = Roles(Roles::Texts{{"pipeline.seed", "replicate"},
                                   {"stage.items.part", "replicate"},
                                   {"stage.items.lanes", "same_results"}});
    runs_.push_back(run);
  }
  const std::vector<Group> groups = rank()[0].groups;
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].observations, 3U);
  EXPECT_NEAR(groups[0].mean, 0.6, 1e-12);
  EXPECT_THAT(groups[0].parameters, IsEmpty());
  for (ScoredRun& run : runs_) {
    run.parameters["stage.items.fold"] = run.parameters["stage.items.part"];
  }
  EXPECT_EQ(rank()[0].groups.size(), 3U) << "its stage declares no role for 'fold'";
}

TEST_F(Ranks, AReplicateOfOneStageMayBeASettingOfAnother) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 1, 0.6), scored("0.2", 1, 0.7)};
  const Roles setting = Roles(Roles::Texts{{"pipeline.seed", "replicate"}});
  const Roles replicate =
      Roles(Roles::Texts{{"pipeline.seed", "replicate"}, {"stage.items.part", "replicate"}});
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    runs_[at].name = std::to_string(at);
    runs_[at].parameters["stage.items.part"] = std::to_string(at);
    runs_[at].roles = at == 0 ? replicate : setting;
  }
  EXPECT_EQ(rank()[0].groups.size(), 3U);
  EXPECT_THAT(unranked_, IsEmpty());
  runs_[0].parameters.erase("stage.items.part");  // its roles then do not count
  for (ScoredRun& run : runs_) run.roles = replicate;
  runs_[0].roles = setting;
  EXPECT_EQ(rank()[0].groups.size(), 2U) << "one without parts, and one of two parts";
}

TEST_F(Ranks, AParameterThatOnlySomeRunsHaveMakesAnotherGroup) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 2, 0.6)};
  runs_[1].parameters["stage.loss.form"] = "\"soft_plus\"";
  EXPECT_EQ(rank()[0].groups.size(), 2U);
}

TEST_F(Ranks, ARepeatedRunCountsOnce) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 1, 0.5), scored("0.2", 1, 0.6)};
  EXPECT_EQ(rank()[0].groups[0].members.size(), 1U);
  ASSERT_EQ(unranked_.size(), 2U);
  EXPECT_EQ(unranked_[0].why, "it repeats margin=0.2,seed=1");
  EXPECT_THAT(unranked_[1].why, HasSubstr("but has 0.6 instead of 0.5"));
}

TEST_F(Ranks, AreWrittenForPeopleAndPrograms) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.2", 2, 0.52), scored("0.5", 1, 0.6),
           scored("0.5", 2, 0.64)};
  Comparison comparison;
  comparison.metric = "recall.r@1";
  comparison.rankings = rank();
  comparison.unranked = {{"margin=1,seed=1", "not started"}};
  EXPECT_EQ(to_text(comparison, 100),
            R"(recall.r@1 of the last epoch, higher is better; 4 runs

margin  runs    mean  deviation  std. error  to the best  95 % interval
0.5        2  0.6200     0.0283      0.0200         best
0.2        2  0.5100     0.0141      0.0100      -0.1100  [-0.2371, +0.0171]

to the best: mean difference of runs with the same seed and fold, and its 95 % confidence
interval (Student's t), not corrected for the number of rows; if it contains 0, no
difference is shown

not ranked:
  margin=1,seed=1: not started
)");
  EXPECT_THAT(to_csv(comparison),
              StartsWith("ranking,rank,metric,stage.loss.margin,runs,observations,mean,"
                         "standard_deviation,standard_error,difference,low,high,pairs,epoch,"
                         "biased_upwards\r\n"
                         "1,1,recall.r@1,0.5,2,2,0.62,"));
  comparison.biased = {"margin=0.2,seed=2"};
  EXPECT_THAT(to_csv(comparison), AllOf(ContainsRegex("\n1,1,recall.r@1,0.5,.*,last,false"),
                                        ContainsRegex("\n1,2,recall.r@1,0.2,.*,last,true")));
  comparison.which = WhichEpoch::best;
  EXPECT_THAT(to_csv(comparison), ContainsRegex("\n1,1,recall.r@1,0.5,.*,best,true"));
  EXPECT_THAT(to_json(comparison), AllOf(HasSubstr("\"replicate\":{\"pipeline.seed\":\"1\"}"),
                                         HasSubstr("\"why\":\"not started\"")));
}

TEST_F(Ranks, ManyParametersAreListedBelow) {
  runs_ = {scored("0.2", 1, 0.5), scored("0.5", 1, 0.6)};
  for (int number = 0; number < 12; ++number) {
    const std::string key = "stage.model.parameter_" + std::to_string(number);
    runs_[0].parameters[key] = "1";
    runs_[1].parameters[key] = "2";
  }
  EXPECT_THAT(text(), AllOf(HasSubstr("\nA         1  0.6000"), HasSubstr("\nA: margin=0.5,seed=1"),
                            HasSubstr("  stage.model.parameter_11  2\n")));
}

}  // namespace seam::host::comparison_test
