#include "pipeline/run/files.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "seam/refusal_testing.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::files_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

TEST(WholeFile, AppearsUnderItsNameOnlyWhenItIsWhole) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  {
    WholeFile whole(file);
    whole.write(std::as_bytes(std::span(std::string_view("half"))));
    EXPECT_FALSE(fs::exists(file));
  }
  EXPECT_TRUE(fs::is_empty(folder.path())) << "an incomplete file was left";
  write_whole_file(file, "all");
  EXPECT_EQ(content(file), "all");
}

TEST(WholeFile, AnEarlierOneStandsUntilTheNewOneIsWhole) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "old");
  {
    WholeFile whole(file);
    whole.write(std::as_bytes(std::span(std::string_view("new"))));
    EXPECT_EQ(content(file), "old");
    whole.commit();
  }
  EXPECT_EQ(content(file), "new");
}

TEST(WholeFile, AFullDiskIsAnErrorThatNamesTheFile) {
  Descriptor full("/dev/full", 1 /* O_WRONLY */);
  EXPECT_REFUSED(full.write(std::as_bytes(std::span(std::string_view("x")))), Fault::data,
                 "cannot write '/dev/full': No space left");
}

TEST(LineFile, AddsAtItsEndAndKnowsItsSize) {
  const TemporaryFolder folder;
  LineFile lines(folder.path() / "lines", 0);
  lines.append("one\n");
  lines.append("two\n");
  EXPECT_EQ(lines.size(), 8U);
  EXPECT_EQ(content(folder.path() / "lines"), "one\ntwo\n");
}

TEST(LineFile, IsCutBackToAnEarlierSize) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("lines", "one\ntwo\nthree\n");
  LineFile lines(file, 8);
  lines.append("3\n");
  EXPECT_EQ(content(file), "one\ntwo\n3\n");
}

TEST(LineFile, AShortenedFileIsRefused) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("lines", "one\n");
  EXPECT_REFUSED(LineFile(file, 8), Fault::data, "has 4 bytes, but the run had written 8");
  EXPECT_EQ(content(file), "one\n");
}

TEST(FolderLock, LetsOneIn) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path());
    EXPECT_REFUSED(FolderLock(folder.path()), Fault::configuration,
                   "in use by another run (process ");
  }
  EXPECT_NO_THROW(FolderLock(folder.path()));
}

TEST(Files, AMissingFileIsNamed) {
  EXPECT_REFUSED(read_file("/no/such/file"), Fault::data, "'/no/such/file': No such file");
}

}  // namespace seam::host::files_test
