#include "pipeline/experiments/sweep_plan.hpp"

#include <set>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::sweep_plan_test {

using ::testing::Pair;

std::vector<std::string> names(const std::vector<PlannedRun>& runs) {
  std::vector<std::string> names;
  for (const PlannedRun& run : runs) names.push_back(run.name);
  return names;
}

std::vector<PlannedRun> plan(const std::vector<std::string>& over,
                             std::optional<RandomSearch> random = {}, const Roles& roles = {}) {
  return plan_runs(parse_axes(over), random, roles);
}

TEST(SweepPlan, HasARunForEachCombination) {
  const std::vector<PlannedRun> runs = plan({"stage.loss.margin=0.2,0.5", "pipeline.seed=1..2"});
  EXPECT_THAT(names(runs), ElementsAre("margin=0.2,seed=1", "margin=0.2,seed=2",
                                       "margin=0.5,seed=1", "margin=0.5,seed=2"));
  EXPECT_THAT(runs[2].settings,
              ElementsAre(Pair("stage.loss.margin", "0.5"), Pair("pipeline.seed", "1")));
}

TEST(SweepPlan, KeysOfOneAxisTakeTheSameValue) {
  EXPECT_THAT(plan({"stage.a.fold,stage.b.fold=0..1"})[1].settings,
              ElementsAre(Pair("stage.a.fold", "1"), Pair("stage.b.fold", "1")));
}

TEST(SweepPlan, NamesAreReadableAndDiffer) {
  EXPECT_THAT(names(plan({"stage.a.rate=1", "stage.b.rate=2"})), ElementsAre("a.rate=1,b.rate=2"));
  EXPECT_THAT(names(plan({R"(stage.resize.mode="area","a/b","a:b")"})),
              ElementsAre("mode=area", "mode=a_b", "mode=a_b~2"));
}

TEST(SweepPlan, DrawsDifferentCombinationsAndGoesThroughSeeds) {
  const RandomSearch five{5, 1};
  const std::vector<std::string> over{"stage.adam.rate=1e-4..1e-2:log", "stage.loss.margin=1,2",
                                      "pipeline.seed=1..3"};
  const std::vector<PlannedRun> runs = plan(over, five);
  ASSERT_EQ(runs.size(), 15U);
  std::set<std::string> drawn;
  for (const PlannedRun& run : runs) {
    const double rate = std::stod(run.settings[0].second);
    EXPECT_GE(rate, 1e-4);
    EXPECT_LE(rate, 1e-2);
    drawn.insert(run.settings[0].second + " " + run.settings[1].second);
  }
  EXPECT_EQ(drawn.size(), 5U);
  EXPECT_EQ(plan(over, five), runs) << "the same seed draws the same";
  EXPECT_NE(plan(over, RandomSearch{5, 2}), runs);
}

TEST(SweepPlan, GoesThroughWhatStagesDeclareAsReplicates) {
  const Roles roles(Roles::Texts{{"stage.items.part", "replicate"}});
  const std::vector<std::string> over{"stage.loss.margin=1,2", "stage.items.part=0..2"};
  EXPECT_EQ(plan(over, RandomSearch{1, 0}, roles).size(), 3U);
  EXPECT_EQ(plan({over[0], "stage.items.fold=0..2"}, RandomSearch{1, 0}, roles).size(), 1U)
      << "the stage declares no role for it";
}

TEST(SweepPlan, RolesAreThoseOfAllDrawnRuns) {
  const std::vector<Axis> axes =
      parse_axes({"stage.items.use=plain,parted", "stage.items.part=0..2"});
  std::vector<std::string> asked;
  const std::vector<PlannedRun> runs =
      draw_runs(axes, RandomSearch{2, 0}, [&](const PlannedRun& run) {
        const std::string use = run.settings[0].second;
        asked.push_back(use);
        return use == "parted" ? Roles(Roles::Texts{{"stage.items.part", "replicate"}}) : Roles();
      });
  EXPECT_EQ(runs.size(), 6U) << "all parts of both";
  EXPECT_THAT(asked, ::testing::UnorderedElementsAre("plain", "parted"))
      << "once for each choice of stages";
}

TEST(SweepPlan, RangesReachBothEnds) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    seen.insert(plan({"stage.a.b=1..3:log"}, RandomSearch{1, seed})[0].settings[0].second);
  }
  EXPECT_THAT(seen, ElementsAre("1", "2", "3"));
}

TEST(SweepPlan, DrawsAllOfWhatThereIs) {
  EXPECT_EQ(plan({"stage.a.b=1,2", "stage.a.c=1,2"}, RandomSearch{4, 0}).size(), 4U);
}

TEST(SweepPlan, RefusalsSayWhy) {
  EXPECT_REFUSED(plan({}), Fault::configuration, "--over");
  EXPECT_REFUSED(plan({"stage.a.b=0.1..0.2"}), Fault::configuration,
                 "needs random search (--random N)");
  EXPECT_REFUSED(plan({"stage.a.b=1,2"}, RandomSearch{3, 0}), Fault::configuration,
                 "there are only 2");
  EXPECT_REFUSED(plan({"stage.a.b=1..3:log"}, RandomSearch{4, 0}), Fault::configuration,
                 "there are only 3");
  EXPECT_REFUSED(plan({"pipeline.seed=1,2"}, RandomSearch{1, 0}), Fault::configuration,
                 "nothing to draw");
  EXPECT_REFUSED(plan({"stage.a.b=1..200", "stage.a.c=1..200"}), Fault::configuration,
                 "more than 10000 runs");
}

TEST(SweepPlan, SurvivesItsFile) {
  const test::TemporaryFolder folder;
  SweepPlan plan;
  plan.name = "demo";
  plan.file = "/a/demo.toml";
  plan.started = "2026-03-01T09:30:00Z";
  plan.working_directory = "/a";
  plan.over = {"stage.loss.margin=0.2,0.5"};
  plan.random = 2;
  plan.random_seed = 7;
  plan.set = {"pipeline.seed=3"};
  plan.jobs = 3;
  plan.threads = 8;
  plan.plugin_paths = {"/b"};
  plan.plugin_search_path = "/c:/d";
  plan.fingerprint = "1f";
  plan.runs = plan_runs(parse_axes(plan.over), std::nullopt, Roles());
  write_plan(folder.path(), plan);
  EXPECT_TRUE(is_sweep_folder(folder.path()));
  EXPECT_EQ(read_plan(folder.path()), plan);
}

TEST(SweepPlan, ADamagedFileIsRefused) {
  const test::TemporaryFolder folder;
  EXPECT_REFUSED(read_plan(folder.path()), Fault::configuration, "it has no sweep.json");
  folder.write("sweep.json", "{\"format\":1,");
  EXPECT_REFUSED(read_plan(folder.path()), Fault::data, "sweep.json' is damaged: ");
  folder.write("sweep.json", "{\"format\":2}");
  EXPECT_REFUSED(read_plan(folder.path()), Fault::configuration, "sweep.json' has format 2");
}

TEST(SweepPlan, ARunMayNotLieOutsideItsFolder) {
  const test::TemporaryFolder folder;
  SweepPlan plan;
  plan.runs = {{"../elsewhere", {}}};
  write_plan(folder.path(), plan);
  EXPECT_REFUSED(read_plan(folder.path()), Fault::data, "a run is named '../elsewhere'");
}

}  // namespace seam::host::sweep_plan_test
