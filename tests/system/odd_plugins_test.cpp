// Incompatible plugins, built as real libraries: each gets its own message, and none prevents the
// others from being listed. To see the listing: seam plugins --load --plugin-path ...
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace odd_plugins_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const fs::path odd = SEAM_ODD_PLUGINS;

fs::path library(const std::string& name) {
  return odd / name / (name + ".so");
}

class OddPlugins : public ::testing::Test {
 protected:
  OddPlugins() {
    place("a_sound", library("sound"));
    for (const char* name :
         {"unresolved", "static_throws", "other_sdk", "no_entry", "wrong_field"}) {
      place(name, library(name));
    }
    // Names that sort after "a_sound", which is loaded first.
    place("same_stage", library("sound"));
    place("truncated", library("sound"));
    fs::resize_file(folder_.path() / "truncated.so", 700);
    fs::create_directory(folder_.path() / "a_folder.so");
    folder_.write("text.so", "This is not a library.\n");
    folder_.write("empty.so", "");
  }

  void place(const std::string& name, const fs::path& file) const {
    fs::copy_file(file, folder_.path() / (name + ".so"));
  }
  [[nodiscard]] std::string listing(const std::vector<std::string>& options = {}) const {
    std::vector<std::string> arguments{"plugins", "--plugin-path", folder_.path().string()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Finished finished = seam(arguments, folder_.path());
    EXPECT_EQ(finished.exit_code, options.empty() ? 0 : 2) << finished.err;
    return finished.out;
  }
  /// The line after "refused: .../NAME.so".
  [[nodiscard]] std::string refusal(const std::string& text, const std::string& name) const {
    const std::string line = "refused: " + (folder_.path() / (name + ".so")).string() + "\n  ";
    const std::size_t from = text.find(line);
    if (from == std::string::npos) return "not refused";
    return text.substr(from + line.size(),
                       text.find('\n', from + line.size()) - from - line.size());
  }
  [[nodiscard]] Finished check(const std::string& stage) const {
    folder_.write("pipeline.toml",
                  "[stage.numbers]\nuse = \"" + stage + "\"\n[flow]\nmain = \"numbers\"\n");
    return seam({"check", "pipeline.toml", "--plugin-path", folder_.path().string()},
                folder_.path(), {{"XDG_CACHE_HOME", (folder_.path() / "cache").string()}});
  }

  TemporaryFolder folder_;
};

TEST_F(OddPlugins, AreListedWithTheirReasons) {
  const std::string text = listing();
  EXPECT_THAT(text, HasSubstr("a_sound.so\n  sound.stage\n"));
  EXPECT_THAT(text, HasSubstr("image.decode"));  // Seam's own
  EXPECT_THAT(refusal(text, "other_sdk"),
              AllOf(HasSubstr("built for SDK number 999"), HasSubstr("rebuild the plugin")));
  EXPECT_THAT(refusal(text, "truncated"), HasSubstr("it is truncated or damaged"));
  EXPECT_THAT(refusal(text, "a_folder"), HasSubstr("it is a folder, not a plugin"));
  EXPECT_THAT(refusal(text, "text"),
              HasSubstr("not a shared library (ELF), it begins with 'This is"));
  EXPECT_THAT(refusal(text, "empty"), HasSubstr("it is empty"));
  EXPECT_THAT(text, HasSubstr("doubled: stage 'sound.stage' is provided by 2 plugins"));
}

TEST_F(OddPlugins, LoadingTellsTheRest) {
  const std::string text = listing({"--load"});
  EXPECT_THAT(text, HasSubstr("a_sound.so: loaded\n  sound.stage\n"));
  EXPECT_THAT(text, HasSubstr("image.decode"));
  EXPECT_THAT(refusal(text, "unresolved"), AllOf(HasSubstr("undefined symbol"),
                                                 HasSubstr("link the plugin with every library")));
  EXPECT_THAT(refusal(text, "static_throws"),
              AllOf(HasSubstr("one of its static initialisers threw: the table of weights is not"),
                    HasSubstr("stage's open()")));
  EXPECT_THAT(refusal(text, "no_entry"), HasSubstr("no entry point 'seam_plugin'"));
  EXPECT_THAT(text,
              HasSubstr("wrong_field.so\n  stage 'wrong_field.stage' cannot be created: field "
                        "'index' is shared by all plugins and is of type std::int64_t, not "
                        "std::string"));
  EXPECT_THAT(text, Not(HasSubstr("'wrong_field.sound' cannot")));
}

TEST_F(OddPlugins, AClashOfNamesIsAnsweredByTheExitCodeToo) {
  const TemporaryFolder two;
  for (const char* name : {"a.so", "b.so"}) fs::copy_file(library("sound"), two.path() / name);
  const Finished finished =
      seam({"plugins", "--load", "--plugin-path", two.path().string()}, two.path());
  EXPECT_EQ(finished.exit_code, 2) << finished.out;
  EXPECT_THAT(finished.out, AllOf(HasSubstr("provided by 2 plugins"),
                                  HasSubstr("rename the stage in one of them")));
  const Finished one =
      seam({"plugins", "--load", "--plugin-path", (two.path() / "a.so").string()}, two.path());
  EXPECT_EQ(one.exit_code, 0) << one.out;
}

TEST_F(OddPlugins, ASharedFieldOfAnotherTypeIsRefusedBeforeAnythingRuns) {
  const Finished checked = check("wrong_field.stage");
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.err,
              AllOf(HasSubstr("field 'index'"), HasSubstr("std::int64_t, not std::string"),
                    HasSubstr("[plugin-defect]"), HasSubstr("(wrong_field.stage)"),
                    HasSubstr("wrong_field.so")));
  const Finished inspected = seam(
      {"inspect", "wrong_field.stage", "--plugin-path", folder_.path().string()}, folder_.path());
  EXPECT_EQ(inspected.exit_code, 5) << "this is a bug in the plugin";
  EXPECT_THAT(inspected.err, HasSubstr("std::int64_t, not std::string"));
}

TEST_F(OddPlugins, WhoNamesTheirStagesIsTold) {
  const auto message = [&](const std::string& stage) {
    const Finished finished = check(stage);
    EXPECT_EQ(finished.exit_code, 2);
    return finished.err;
  };
  EXPECT_THAT(message("unresolved.stage"), HasSubstr("undefined symbol"));
  EXPECT_THAT(message("static_throws.stage"), HasSubstr("one of its static initialisers threw"));
  EXPECT_THAT(message("sound.stage"), AllOf(HasSubstr("provided by 2 plugins"),
                                            HasSubstr("a_sound.so"), HasSubstr("same_stage.so")));
}

TEST_F(OddPlugins, AFileMayNotBeReadable) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may read everything";
  fs::permissions(folder_.path() / "a_sound.so", fs::perms::none);
  EXPECT_THAT(refusal(listing(), "a_sound"), HasSubstr("it cannot be read: Permission denied"));
}

TEST_F(OddPlugins, ALibraryThatIsNoPluginIsPassedOverUnlessNamed) {
  place("helper", library("helper"));
  EXPECT_THAT(listing(), Not(HasSubstr("helper.so")));
  const Finished named =
      seam({"plugins", "--plugin-path", (folder_.path() / "helper.so").string()}, folder_.path());
  EXPECT_THAT(named.out, HasSubstr("it is a shared library but not a Seam plugin"));
}

TEST_F(OddPlugins, TwoLibTorchsDoNotFitIntoOneProcess) {
  place("other_libtorch", library("other_libtorch"));
  EXPECT_THAT(listing(), AllOf(HasSubstr("not together: plugin"), HasSubstr("seam_batch.so"),
                               HasSubstr("' with 1.9.0; rebuild one of them")));
}

TEST_F(OddPlugins, ASanitizerMustBeTheProgramsToo) {
  if (!fs::exists(library("sanitized"))) GTEST_SKIP() << "everything is sanitized in this build";
  place("sanitized", library("sanitized"));
  EXPECT_THAT(refusal(listing(), "sanitized"),
              HasSubstr("built with sanitizer address, this program with sanitizer none"));
}

TEST_F(OddPlugins, AnotherCompilerIsNamed) {
  if (!fs::exists(library("other_compiler"))) GTEST_SKIP() << "there is no other compiler here";
  place("other_compiler", library("other_compiler"));
  EXPECT_THAT(refusal(listing(), "other_compiler"),
              AllOf(HasSubstr("built by clang"), HasSubstr("this program by gcc")));
}

}  // namespace odd_plugins_test
}  // namespace seam::test
