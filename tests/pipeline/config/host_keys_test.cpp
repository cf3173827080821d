#include "pipeline/config/host_keys.hpp"
#include "pipeline/config/host_tables.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "pipeline/config/sweep.hpp"
#include "tests/pipeline/config/load_fixture.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/text.hpp"

namespace seam::host::host_keys_test {

namespace fs = std::filesystem;

/// A non-default value for each key, by table and key; HERE is the test's folder. The test fails
/// for a declared key that is missing here.
const std::map<std::string, std::vector<std::string>> samples{
    {"pipeline.name", {"\"other $$ name\""}},
    {"pipeline.seed", {"9"}},
    {"pipeline.threads", {"3"}},
    {"pipeline.device", {"\"cuda\"", "\"cuda:1\"", "\"auto\""}},
    {"pipeline.precision", {"\"bfloat16\""}},
    {"pipeline.lanes", {"8"}},
    {"pipeline.lanes_memory", {"\"recompute\""}},
    {"pipeline.deterministic", {"false"}},
    {"pipeline.max_errors", {"0", "12", "0.25"}},
    {"pipeline.plugins", {"[\"HERE/mine\"]"}},
    {"pipeline.tensorboard", {"true", "{ histograms = [\"scale.*\", \"*.bias\"] }"}},
    {"pipeline.twin", {}},  // of a file, not of a run; see twin_test
    {"pipeline.differs_in", {}},
    {"limits.packets", {"17"}},
    {"limits.bytes", {"4097", "\"1.5 KiB\""}},
    {"limits.stall_seconds", {"0", "7"}},
    {"schedule.epochs", {"5"}},
    {"schedule.before", {"[\"other\"]"}},
    {"schedule.each_epoch", {"\"other\"", "[{ flow = \"main\", every = 3 }, \"other\"]", "[]"}},
    {"schedule.after", {"\"other\""}},
    {"schedule.floors", {"\"total\"", "[\"total\"]"}},
    {"schedule.stop_early",
     {"{ metric = \"scale.x\" }", "{ metric = \"scale.x\", patience = 4 }",
      "{ metric = \"scale.x\", goal = \"lowest\" }"}},
    {"schedule.checkpoint_every",
     {"2", "{ steps = 500 }", "{ minutes = 0.5 }", "{ epochs = 2, steps = 10, minutes = 3 }"}},
    {"schedule.keep", {"5", "{ last = 3 }"}},
    {"stage.scale.use", {"\"fixture.every_kind\""}},
    {"stage.scale.like", {}},  // resolved texts contain its expansion; see like_test
    {"stage.scale.on_error", {"\"skip\"", "{ retry = 3 }"}},
    {"stage.scale.concurrency", {"2"}},
};

/// All members of a pipeline that a file can set, except stages' parameters.
auto said(const PipelineSpec& spec) {
  std::vector<std::tuple<std::string, std::string, OnError, int, std::optional<int>>> stages;
  for (const StageSpec& stage : spec.stages) {
    stages.emplace_back(stage.name, stage.use, stage.on_error, stage.retries, stage.concurrency);
  }
  return std::tuple(spec.name, spec.seed, spec.threads, spec.device, spec.precision, spec.lanes,
                    spec.deterministic, spec.max_errors, spec.max_error_share, spec.plugin_paths,
                    spec.tensorboard, spec.limits, spec.schedule, stages);
}

class HostKeys : public Load {
 protected:
  HostKeys() { fs::create_directory(folder_.path() / "mine"); }

  PipelineSpec spec(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return loaded(text, overrides).spec;
  }

  std::string simple_ = std::string(simple) + "other = \"numbers -> total\"\n";
};

TEST_F(HostKeys, EveryKeySurvivesAResume) {
  PipelineSpec any;
  StageSpec any_stage;
  std::size_t tried = 0;
  for (const auto& [prefix, table] :
       {std::pair("pipeline.", pipeline_table(any)), std::pair("limits.", limits_table(any.limits)),
        std::pair("schedule.", schedule_table(any.schedule)),
        std::pair("stage.scale.", stage_table(any_stage))}) {
    for (const ParameterInfo& key : table.keys()) {
      const auto values = samples.find(prefix + key.name);
      ASSERT_NE(values, samples.end()) << "no value to try for the key " << prefix << key.name;
      std::vector<std::string> settings;  // with which the key has an effect
      if (key.name == "lanes_memory") settings.emplace_back("pipeline.lanes=8");
      const auto before = said(spec(simple_, settings));
      settings.emplace_back();
      for (std::string value : values->second) {
        if (const std::size_t at = value.find("HERE"); at != std::string::npos) {
          value.replace(at, 4, folder_.path().string());
        }
        settings.back() = prefix + key.name + "=" + value;
        const PipelineSpec set = spec(simple_, settings);
        EXPECT_TRUE(said(set) != before) << settings.back() << " was not read";
        EXPECT_TRUE(said(spec(set.resolved)) == said(set)) << settings.back() << " was lost in\n"
                                                           << set.resolved;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, samples.size());
}

TEST_F(HostKeys, TheBestThatStopEarlyWatchesHasItsDirection) {
  const PipelineSpec set =
      spec(simple_, {"schedule.stop_early={ metric = \"scale.x\", goal = \"lowest\" }",
                     "schedule.keep={ best = \"scale.x\", last = 4 }"});
  EXPECT_EQ(set.schedule.keep, (KeepRule{"scale.x", 4, Better::lower}));
  EXPECT_THAT(set.resolved, HasSubstr("\nkeep = { best = \"scale.x\", last = 4 }\n"));
  EXPECT_EQ(spec(set.resolved).schedule, set.schedule);
}

TEST_F(HostKeys, DefaultsAreMarkedInTheResolvedText) {
  const std::string resolved = spec(simple_, {"limits.packets=17"}).resolved;
  EXPECT_THAT(resolved, HasSubstr("packets = 17\nbytes = 268435456  # default\n"));
  EXPECT_THAT(resolved, HasSubstr("# threads: not set\ndevice = \"cpu\"  # default\n"
                                  "precision = \"float32\"  # default\n"
                                  "# lanes = 1  # default\n# lanes_memory = \"keep\"  # default\n"
                                  "deterministic = true  # default\n# max_errors: not set\n"));
  EXPECT_THAT(resolved, HasSubstr("on_error = \"fail\"  # default\n# concurrency: not set\n"));
}

TEST_F(HostKeys, ARefusedValueLeavesTheMember) {
  LimitSpec limits;
  Sources sources;
  Findings findings(sources);
  const HostTable table = limits_table(limits);
  Entry entry;
  entry.key = "packets";
  entry.node.value = std::int64_t{0};
  EXPECT_FALSE(read_key(table, entry, "[limits]", findings));
  EXPECT_EQ(limits, LimitSpec());
  entry.node.value = std::int64_t{3};
  EXPECT_TRUE(read_key(table, entry, "[limits]", findings));
  EXPECT_EQ(limits.packets, 3);
  EXPECT_EQ(findings.errors(), 1U);
}

// SEAM_UPDATE_EXPECTED=1 writes the current declarations.
TEST(HostKeysPage, SaysWhatIsDeclared) {
  PipelineSpec spec;
  StageSpec stage;
  SweepSpec sweep;
  const fs::path page = SEAM_PIPELINE_FILES_PAGE;
  std::string text = test::text_of_file(page);
  for (const HostTable& table :
       {pipeline_table(spec), limits_table(spec.limits), stage_table(stage),
        schedule_table(spec.schedule), chosen_table(spec.chosen), sweep_table(sweep)}) {
    const std::string begin = "<!-- keys of " + table.name() + ": declared in the program -->\n";
    const std::string end = "<!-- up to here -->\n";
    const std::size_t from = text.find(begin);
    ASSERT_NE(from, std::string::npos) << "the page has no place for " << table.name();
    const std::size_t to = text.find(end, from);
    ASSERT_NE(to, std::string::npos);
    text.replace(from + begin.size(), to - from - begin.size(), "\n" + keys_markdown(table) + "\n");
  }
  if (std::getenv("SEAM_UPDATE_EXPECTED") !=
      nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
    std::ofstream(page, std::ios::binary) << text;
  }
  EXPECT_TRUE(text == test::text_of_file(page)) << "run this test with SEAM_UPDATE_EXPECTED=1";
}

}  // namespace seam::host::host_keys_test
