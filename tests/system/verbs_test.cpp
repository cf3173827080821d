#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace verbs_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
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
  for (const char* verb : {"run", "sweep", "runs", "compare", "report", "check", "plugins",
                           "inspect", "graph", "schema", "new plugin", "doctor"}) {
    const std::string first = std::string(verb).substr(0, std::string(verb).find(' '));
    EXPECT_THAT(help.out, HasSubstr("\n  " + first + " "));
    std::vector<std::string> arguments{first};
    if (first != verb) arguments.emplace_back(std::string(verb).substr(first.size() + 1));
    arguments.emplace_back("--help");
    const Finished of_verb = seam(arguments);
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
  EXPECT_THAT(unknown.err,
              AllOf(HasSubstr("unknown command 'chekc'"), HasSubstr("did you mean 'check'")));
}

TEST_F(VerbsTest, ADeviceThatDoesNotExistEndsARunBeforeItBegins) {
  const Finished run = seam({"run", "small.toml", "--device", "cuda:17", "--run-dir", "out"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("device 'cuda:17' does not exist"), HasSubstr("cpu")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out"));
  const Finished misspelt = seam({"run", "small.toml", "--device", "gpu"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("\"cpu\", \"cuda\", \"cuda:1\" or \"auto\""));
  EXPECT_EQ(seam({"check", "small.toml", "--set", "pipeline.device=cuda:17"}).exit_code, 0)
      << "another machine may have it";
  EXPECT_EQ(seam({"check", "small.toml", "--set", "pipeline.device=gpu"}).exit_code, 2);
}

TEST_F(VerbsTest, FlagsOfARunAreRecordedInItsFolder) {
  ASSERT_EQ(seam({"run", "small.toml", "--device", "auto", "--precision", "bfloat16",
                  "--no-deterministic", "--run-dir", "out"})
                .exit_code,
            0);
  std::ifstream stream(folder_.path() / "out/resolved.toml");
  std::ostringstream resolved;
  resolved << stream.rdbuf();
  EXPECT_THAT(resolved.str(),
              HasSubstr("device = \"auto\"\nprecision = \"bfloat16\"\ndeterministic = false\n"));
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
  EXPECT_THAT(seam({"inspect", "batch"}).out,
              AllOf(ContainsRegex("items +std::vector<std::string>\\[N\\]"),
                    ContainsRegex("images +[a-z0-9]+\\[N,3,H,W\\]")));
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
  EXPECT_THAT(damaged.err, HasSubstr("is not a valid summary.json"));
}

TEST_F(VerbsTest, DoctorTellsVersionsThreadsAndPaths) {
  const Finished doctor = seam({"doctor"});
  EXPECT_EQ(doctor.exit_code, 0);
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("compiler"), HasSubstr("OMP_NUM_THREADS"),
                                HasSubstr("idle OpenMP threads"), HasSubstr("SEAM_PLUGIN_PATH"),
                                HasSubstr("6 stages"), HasSubstr("\ndevices\n"),
                                ContainsRegex("LibTorch [0-9.]+\\+(cpu|cuda) computes on cpu")));
}

TEST_F(VerbsTest, CompletionKnowsVerbsOptionsStagesAndFiles) {
  const auto complete = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "complete");
    const Finished finished = seam(words);
    EXPECT_EQ(finished.exit_code, 0);
    return finished.out;
  };
  EXPECT_EQ(complete({"ch"}), "check\n");
  EXPECT_THAT(complete({""}), AllOf(HasSubstr("run\n"), HasSubstr("new\n"), HasSubstr("--help\n"),
                                    Not(HasSubstr("complete"))));
  EXPECT_EQ(complete({"new", "pl"}), "plugin\n");
  EXPECT_EQ(complete({"run", "--res"}), "--resume\n--resume-if-present\n");
  EXPECT_EQ(complete({"run", "--resume", ""}), ":folders\n");
  EXPECT_EQ(complete({"run", "small"}), ":files\n");
  EXPECT_EQ(complete({"run", "--threads", ""}), "");
  EXPECT_EQ(complete({"run", "--device", "c"}), "cpu\ncuda\n");
  EXPECT_EQ(complete({"run", "--precision", ""}), "float32\nbfloat16\n");
  EXPECT_EQ(complete({"run", "--no-det"}), "--no-deterministic\n");
  EXPECT_EQ(complete({"inspect", "test.g"}), "test.gate\n");
  EXPECT_EQ(complete({"inspect", "--json", "image.d"}), "image.decode\n");
  EXPECT_EQ(complete({"inspect", "small"}), ":files\n");
  EXPECT_EQ(complete({"inspect", "--s"}), "--set\n");
  EXPECT_EQ(complete({"graph", "small.toml", "--format", ""}), "dot\nmermaid\n");
  EXPECT_EQ(complete({"new", "plugin", "x", "--kind", "s"}), "source\nsink\n");
  EXPECT_EQ(complete({"new", "plugin", "x", "--kind", "l"}), "loss\n");
  EXPECT_EQ(complete({"no-such-verb", ""}), "");
}

/// Runs the completion script that is installed for a shell, with the program's folder first in
/// PATH.
class ShellsTest : public VerbsTest {
 protected:
  std::string in_shell(const std::string& shell, const std::string& script) {
    folder_.write("script", "cd '" + folder_.path().string() + "'\n" + script);
    const std::string folder = std::filesystem::path(SEAM_PROGRAM).parent_path().string();
    const std::string output = (folder_.path() / "words").string();
    EXPECT_EQ(std::system(("PATH='" + folder + "':\"$PATH\" " + shell + " '" +
                           (folder_.path() / "script").string() + "' > '" + output + "'")
                              .c_str()),
              0);
    return text_of_file(output);
  }
};

TEST_F(ShellsTest, BashCompletes) {
  if (std::system("bash -c true") != 0) GTEST_SKIP() << "there is no bash here";
  const auto words = [&](const std::string& line, int at) {
    return in_shell("bash",
                    "source " SEAM_SOURCE
                    "/pipeline/cli/completion/seam.bash; compopt() { :; }; COMP_WORDS=(seam " +
                        line + "); COMP_CWORD=" + std::to_string(at) +
                        "; _seam; printf '%s\\n' \"${COMPREPLY[@]}\"");
  };
  EXPECT_EQ(words("doc", 1), "doctor\n");
  EXPECT_EQ(words("check sma", 2), "small.toml\n");
  EXPECT_EQ(words("inspect image.r", 2), "image.resize\n");
}

/// zsh calls a completion with the line in `words` and expects calls of compadd and _files.
TEST_F(ShellsTest, ZshCompletes) {
  if (std::system("zsh -fc true 2> /dev/null") != 0) GTEST_SKIP() << "there is no zsh here";
  const auto words = [&](const std::string& line, int at) {
    return in_shell("zsh -f",
                    "compadd() { print -r -- $2 }\n_files() { print -r -- files$1 }\n"
                    "words=(seam " +
                        line + "); CURRENT=" + std::to_string(at) +
                        "; source " SEAM_SOURCE "/pipeline/cli/completion/_seam");
  };
  EXPECT_EQ(words("doc", 2), "doctor\n");
  EXPECT_EQ(words("check sma", 3), "files\n");
  EXPECT_EQ(words("run --resume ''", 4), "files-/\n");
  EXPECT_EQ(words("inspect image.r", 3), "image.resize\n");
}

TEST_F(ShellsTest, FishCompletes) {
  if (std::system("fish --no-config -c true 2> /dev/null") != 0)
    GTEST_SKIP() << "there is no fish here";
  const auto words = [&](const std::string& line) {
    return in_shell("fish --no-config", "source " SEAM_SOURCE
                                        "/pipeline/cli/completion/seam.fish; complete -C 'seam " +
                                            line + "'");
  };
  EXPECT_EQ(words("doc"), "doctor\n");
  EXPECT_EQ(words("check sma"), "small.toml\n");
  EXPECT_EQ(words("inspect image.r"), "image.resize\n");
}

/// Graphviz reads what `seam graph` writes: two flows of five and four stages, each joined to the
/// next.
TEST_F(ShellsTest, GraphvizDrawsAPipeline) {
  if (std::system("dot -V 2> /dev/null") != 0) GTEST_SKIP() << "there is no Graphviz here";
  EXPECT_EQ(in_shell("sh", "seam graph " SEAM_SOURCE "/pipelines/fashion-mnist.toml 2> /dev/null | "
                           "dot -Tplain | cut -d ' ' -f 1 | sort | uniq -c | tr -s ' '"),
            " 7 edge\n 1 graph\n 9 node\n 1 stop\n");
}

TEST_F(VerbsTest, TheManualHasAPageForEachVerb) {
  EXPECT_EQ(seam({"manual", "man"}).exit_code, 0);
  const std::string overview = text_of_file(folder_.path() / "man/seam.1");
  for (const char* verb : {"run", "check", "plugins", "inspect", "graph", "schema", "new-plugin",
                           "new-pipeline", "doctor"}) {
    const std::string page =
        text_of_file(folder_.path() / "man" / ("seam-" + std::string(verb) + ".1"));
    EXPECT_THAT(
        page, AllOf(StartsWith(".TH seam-"), HasSubstr(".SH SYNOPSIS"), HasSubstr(".SH EXAMPLE")));
    EXPECT_THAT(overview, HasSubstr("seam\\-" +
                                    std::regex_replace(std::string(verb), std::regex("-"), "\\-")));
  }
  EXPECT_THAT(text_of_file(folder_.path() / "man/seam-run.1"), HasSubstr("\\-\\-resume"));
  EXPECT_THAT(text_of_file(folder_.path() / "man/seam-inspect.1"), HasSubstr("[FILE] STAGE"));
}

TEST_F(VerbsTest, NewPipelineWritesAFileThatChecks) {
  const Finished made = seam({"new", "pipeline", "first_try"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("seam check first_try.toml"));
  EXPECT_THAT(
      text_of_file(folder_.path() / "first_try.toml"),
      AllOf(StartsWith("#:schema ./seam.schema.json\n"), HasSubstr("name = \"first_try\"")));
  EXPECT_THAT(text_of_file(folder_.path() / "seam.schema.json"), HasSubstr("image.decode"));
  EXPECT_EQ(seam({"check", "first_try.toml"}).exit_code, 0);
  const Finished again = seam({"new", "pipeline", "first_try"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("already exists and is not overwritten"));
}

TEST_F(VerbsTest, NewPluginWritesAProject) {
  const Finished made = seam({"new", "plugin", "acme.unsharp_mask", "--tensor"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const auto text = [&](const char* file) {
    return text_of_file(folder_.path() / "unsharp_mask" / file);
  };
  EXPECT_THAT(text("CMakeLists.txt"), AllOf(HasSubstr("REQUIRED COMPONENTS tensor)"),
                                            HasSubstr("seam_add_plugin(unsharp_mask TENSOR "),
                                            HasSubstr("PUBLIC Seam::tensor")));
  EXPECT_THAT(text("unsharp_mask.hpp"), AllOf(HasSubstr("class UnsharpMask final"),
                                              HasSubstr("name = \"acme.unsharp_mask\"")));
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_.path() / "unsharp_mask")) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("template")));
    if (entry.is_regular_file()) {
      EXPECT_THAT(text_of_file(entry.path()),
                  Not(ContainsRegex("[Tt]emplate[_.]?[Ss]tage|template_plugin")));
    }
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "unsharp_mask/.github/workflows/test.yml"));

  EXPECT_EQ(seam({"new", "plugin", "unsharp_mask"}).exit_code, 2);  // the folder exists
  const Finished named = seam({"new", "plugin", "Unsharp-Mask"});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, HasSubstr("such as unsharp_mask or acme.unsharp_mask"));
  EXPECT_EQ(seam({"new", "plugin", "x", "--kind", "filter"}).exit_code, 2);
}

TEST_F(VerbsTest, NewPluginTouchesNothingThatIsThere) {
  std::filesystem::create_directory(folder_.path() / "mask.part");
  folder_.write("mask.part/precious.txt", "x");
  EXPECT_EQ(seam({"new", "plugin", "acme.mask", "--output", "mask/"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "mask/mask.cpp"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "mask.part/precious.txt"));
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    ++entries;
  }
  EXPECT_EQ(entries, 3U) << "small.toml, mask, mask.part";
}

TEST_F(VerbsTest, APipelineMayComeThroughAPipe) {
  const std::string fifo = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(fifo) << small; });
  const Finished checked = seam({"check", "pipe"});
  writer.join();
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

TEST_F(VerbsTest, OutputThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  const std::string command = "SEAM_PLUGIN_PATH=" + std::string(SEAM_SYSTEM_PLUGINS) + " " +
                              SEAM_PROGRAM + " plugins > /dev/full 2> /dev/null";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(VerbsTest, AnOptimizerCannotTryAgain) {
  const Finished check = test::seam(
      {"check", SEAM_SOURCE "/pipelines/demo.toml", "--set", "stage.adam.on_error={ retry = 2 }"},
      folder_.path());
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_THAT(check.err, HasSubstr("a loss allows only one backward pass"));
}

}  // namespace verbs_test
}  // namespace seam::test
