#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* small = R"([stage.numbers]
use = "test.count"
[stage.total]
use = "test.total"
[flow]
main = "numbers -> total"
)";

class VerbsTest : public ::testing::Test {
 protected:
  VerbsTest() { folder_.write("small.toml", small); }

  Finished seam(const std::vector<std::string>& arguments) {
    return test::seam(arguments, folder_.path(), {{"SEAM_PLUGIN_PATH", SEAM_SYSTEM_PLUGINS}});
  }

  TemporaryFolder folder_;
};

TEST_F(VerbsTest, HelpNamesEveryVerbAndTheExitCodes) {
  const Finished help = seam({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* verb : {"run", "check", "plugins", "inspect", "graph", "doctor"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  ") + verb + " "));
    const Finished of_verb = seam({verb, "--help"});
    EXPECT_EQ(of_verb.exit_code, 0);
    EXPECT_THAT(of_verb.out, HasSubstr(std::string("Example: seam ") + verb));
  }
  EXPECT_THAT(help.out, HasSubstr("6 incomplete"));
}

TEST_F(VerbsTest, SaysItsVersion) {
  const Finished version = seam({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("seam "));
}

TEST_F(VerbsTest, AWrongCommandLineIsAConfigurationError) {
  EXPECT_EQ(seam({}).exit_code, 2);
  EXPECT_EQ(seam({"run"}).exit_code, 2);
  EXPECT_EQ(seam({"run", "small.toml", "--resume", "x"}).exit_code, 2);
  EXPECT_EQ(seam({"run", "small.toml", "--threads", "0"}).exit_code, 2);
  EXPECT_EQ(seam({"graph", "small.toml", "--format", "svg"}).exit_code, 2);
  const Finished unknown = seam({"chekc"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'check'"));
}

TEST_F(VerbsTest, CheckCountsStagesAndFlows) {
  const Finished check = seam({"check", "small.toml"});
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_EQ(check.out, "small.toml: ok: 2 stages, 1 flow\n");
}

TEST_F(VerbsTest, CheckTellsAllProblemsOfAllFiles) {
  folder_.write("bad.toml", "[stage.a]\nuse = \"test.cuont\"\n[flow]\nf = \"a -> b\"\n");
  const Finished check = seam({"check", "bad.toml", "small.toml"});
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_THAT(check.err,
              AllOf(HasSubstr("bad.toml:2:"), HasSubstr("test.count"), HasSubstr("bad.toml:4:")));
  EXPECT_THAT(check.out, HasSubstr("small.toml: ok"));
  const Finished json = seam({"check", "--json", "bad.toml"});
  EXPECT_EQ(json.exit_code, 2);
  EXPECT_THAT(json.out, AllOf(StartsWith("["), HasSubstr("\"code\"")));
  EXPECT_EQ(seam({"check", "--json", "small.toml"}).out, "[]\n");
}

TEST_F(VerbsTest, CheckTakesOverridesWithoutSwallowingFiles) {
  EXPECT_EQ(seam({"check", "--set", "stage.numbers.n=3", "small.toml"}).exit_code, 0);
  EXPECT_EQ(seam({"check", "--set", "stage.numbers.n=-3", "small.toml"}).exit_code, 2);
}

TEST_F(VerbsTest, AFileThatIsNotThereIsAProblem) {
  const Finished check = seam({"check", "missing.toml"});
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_THAT(check.err, HasSubstr("missing.toml"));
}

TEST_F(VerbsTest, PluginsListsStagesAndRefusedFiles) {
  const auto broken = folder_.write("broken.so", "no library");
  const Finished plugins = seam({"plugins", "--plugin-path", broken.string()});
  EXPECT_EQ(plugins.exit_code, 0);
  EXPECT_THAT(plugins.out, AllOf(HasSubstr("  test.count\n"), HasSubstr("SEAM_PLUGIN_PATH"),
                                 HasSubstr("refused: " + broken.string())));
  const Finished json = seam({"plugins", "--json"});
  EXPECT_THAT(json.out, AllOf(StartsWith("{\"search_path\":["), HasSubstr("\"test.gate\"")));
}

TEST_F(VerbsTest, InspectDescribesAStage) {
  const Finished inspect = seam({"inspect", "test.add"});
  EXPECT_EQ(inspect.exit_code, 0);
  EXPECT_THAT(inspect.out, AllOf(HasSubstr("parallel transform"), HasSubstr("amount"),
                                 HasSubstr("from 0 to 1000 (apples)"), HasSubstr("needs")));
  const Finished json = seam({"inspect", "test.total", "--json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"keeps_state\":true"), HasSubstr("\"needs\":[{")));
}

TEST_F(VerbsTest, InspectOfAnUnknownStageSaysWhereItLooked) {
  const Finished inspect = seam({"inspect", "test.ad"});
  EXPECT_EQ(inspect.exit_code, 2);
  EXPECT_THAT(inspect.err, AllOf(HasSubstr("did you mean 'test.add'"), HasSubstr("searched")));
}

TEST_F(VerbsTest, GraphDrawsInBothFormats) {
  const Finished dot = seam({"graph", "small.toml"});
  EXPECT_EQ(dot.exit_code, 0);
  EXPECT_THAT(dot.out, AllOf(StartsWith("digraph"), HasSubstr("numbers\\ntest.count"),
                             HasSubstr("flow_0_0 -> flow_0_1")));
  const Finished mermaid = seam({"graph", "small.toml", "--format", "mermaid"});
  EXPECT_THAT(mermaid.out, AllOf(StartsWith("flowchart"), HasSubstr("flow_0_0 --> flow_0_1")));
}

TEST_F(VerbsTest, GraphOfARunTellsWhatItsStagesDid) {
  ASSERT_EQ(seam({"run", "small.toml", "--run-dir", "out"}).exit_code, 0);
  const Finished dot = seam({"graph", "out"});
  EXPECT_EQ(dot.exit_code, 0) << dot.err;
  EXPECT_THAT(dot.out,
              AllOf(HasSubstr("numbers\\ntest.count\\n10 packets, "),
                    HasSubstr("flow_0_0 -> flow_0_1 [label=\"queue "), HasSubstr("fillcolor=")));
  const Finished mermaid = seam({"graph", "out", "--format", "mermaid"});
  EXPECT_THAT(mermaid.out, HasSubstr("total<br>test.total<br>10 packets, "));
  folder_.write("out/summary.json", "{");
  const Finished damaged = seam({"graph", "out"});
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_THAT(damaged.err, HasSubstr("is not the summary of a run"));
}

TEST_F(VerbsTest, DoctorTellsVersionsThreadsAndPaths) {
  const Finished doctor = seam({"doctor"});
  EXPECT_EQ(doctor.exit_code, 0);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("compiler"), HasSubstr("OMP_NUM_THREADS"),
                                HasSubstr("SEAM_PLUGIN_PATH"), HasSubstr("6 stages")));
}

}  // namespace
}  // namespace seam::test
