#include "pipeline/run/run_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "seam/error.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host {
namespace {

using seam::test::TemporaryFolder;

using ::testing::HasSubstr;

Launch example() {
  Launch launch;
  launch.version = "0.1.0";
  launch.compiler = "gcc 12";
  launch.started = "2026-03-01T09:30:00Z";
  launch.file = "/data/with \"quotes\" and \\.toml";
  launch.working_directory = "/home/someone";
  launch.plugins = {{"/lib/a.so", "11", "2.1.0", "none"}, {"/lib/b.so", "22", "none", "4.6.0"}};
  return launch;
}

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::configuration);
    return error.what();
  }
  return "accepted";
}

TEST(Launch, IsReadBackFromTheHeadOfTheFile) {
  const std::string text = headed_text(example(), "[pipeline]\nname = \"x\"\n#: seam = \"9\"\n");
  EXPECT_EQ(parse_launch(text, "resolved.toml"), example());
  EXPECT_THAT(text, HasSubstr("\n\n[pipeline]\nname"));
}

TEST(Launch, KeysThatAreNotThereStayEmpty) {
  EXPECT_EQ(parse_launch("[pipeline]\n", "resolved.toml"), Launch());
}

TEST(Launch, ABrokenHeadIsSaidSo) {
  EXPECT_THAT(complaint([] { parse_launch("#: seam = \n", "resolved.toml"); }),
              HasSubstr("head of 'resolved.toml'"));
}

TEST(RunDirectory, TakesANewOrEmptyFolder) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(RunDirectory::create(folder.path() / "a" / "b", "x"));
  EXPECT_NO_THROW(RunDirectory::create(folder.path() / "a" / "b", "x")) << "its lock alone";
}

TEST(RunDirectory, RefusesAFolderWithOtherThings) {
  const TemporaryFolder folder;
  folder.write("thesis.tex", "");
  EXPECT_THAT(complaint([&] { RunDirectory::create(folder.path(), "x"); }),
              HasSubstr("is not empty"));
  folder.write("resolved.toml", "");
  EXPECT_THAT(complaint([&] { RunDirectory::create(folder.path(), "x"); }),
              HasSubstr("already holds a run"));
}

TEST(RunDirectory, OneProcessAtATime) {
  const TemporaryFolder folder;
  folder.write("resolved.toml", "");
  const RunDirectory first = RunDirectory::reopen(folder.path());
  EXPECT_THAT(complaint([&] { RunDirectory::reopen(folder.path()); }), HasSubstr("in use"));
}

TEST(RunDirectory, AFolderThatIsNoRunIsSaidSo) {
  const TemporaryFolder folder;
  EXPECT_THAT(complaint([&] { RunDirectory::reopen(folder.path()); }),
              HasSubstr("is not a run folder"));
}

}  // namespace
}  // namespace seam::host
