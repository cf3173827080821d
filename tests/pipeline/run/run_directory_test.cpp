#include "pipeline/run/run_directory.hpp"

#include "seam/error.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::run_directory_test {

using seam::test::TemporaryFolder;

Launch example() {
  Launch launch;
  launch.version = "0.1.0";
  launch.compiler = "gcc 12";
  launch.started = "2026-03-01T09:30:00Z";
  launch.file = "/data/with \"quotes\" and \\.toml";
  launch.working_directory = "/home/someone";
  launch.plugins = {{"/lib/a.so", "11", "2.1.0", "none"}, {"/lib/b.so", "22", "none", "4.6.0"}};
  launch.data = {{"stage.items.list", "33"}};
  launch.initial = {{"stage.model.weights", "44"}};
  launch.from = {"/runs/a", "epoch-1.safetensors", "55"};
  launch.evaluates = {"/runs/b", "epoch-2.safetensors", "", "last"};
  launch.roles =
      Roles(Roles::Texts{{"stage.items.part", "replicate unless stage.items.parts = 1"}});
  return launch;
}

TEST(Launch, IsReadBackFromTheHeadOfTheFile) {
  const std::string text = headed_text(example(), "[pipeline]\nname = \"x\"\n#: seam = \"9\"\n");
  EXPECT_EQ(parse_launch(text, "resolved.toml"), example());
  EXPECT_THAT(text, HasSubstr("\n\n[pipeline]\nname"));
}

TEST(Launch, ABrokenHeadIsSaidSoAndKeysThatAreNotThereStayEmpty) {
  EXPECT_EQ(parse_launch("[pipeline]\n", "resolved.toml"), Launch());
  EXPECT_REFUSED(parse_launch("#: seam = \n", "resolved.toml"), Fault::configuration,
                 "top of 'resolved.toml' are not valid TOML");
}

TEST(RunDirectory, TakesANewOrEmptyFolder) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(RunDirectory::create(folder.path() / "a" / "b", "x"));
  EXPECT_NO_THROW(RunDirectory::create(folder.path() / "a" / "b", "x"))
      << "it contains only its lock";
}

TEST(RunDirectory, RefusesAFolderWithOtherThings) {
  const TemporaryFolder folder;
  folder.write("thesis.tex", "");
  EXPECT_REFUSED(RunDirectory::create(folder.path(), "x"), Fault::configuration, "is not empty");
  folder.write("resolved.toml", "");
  EXPECT_REFUSED(RunDirectory::create(folder.path(), "x"), Fault::configuration,
                 "already contains a run");
}

TEST(RunDirectory, OneProcessAtATime) {
  const TemporaryFolder folder;
  EXPECT_REFUSED(RunDirectory::reopen(folder.path()), Fault::configuration, "is not a run folder");
  folder.write("resolved.toml", "");
  const RunDirectory first = RunDirectory::reopen(folder.path());
  EXPECT_REFUSED(RunDirectory::reopen(folder.path()), Fault::configuration,
                 "in use by another run");
}

}  // namespace seam::host::run_directory_test
