#include "pipeline/run/files.hpp"

#include <gtest/gtest.h>

#include "seam/refusal_testing.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::files_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

TEST(WholeFile, AppearsUnderItsNameOnlyWhenItIsWhole) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "file";
  {
    WholeFile whole(file);
    whole.write(std::as_bytes(std::span(std::string_view("half"))));
    EXPECT_FALSE(fs::exists(file));
  }
  EXPECT_TRUE(fs::is_empty(folder.path())) << "an incomplete file was left";
  write_whole_file(file, "old");
  WholeFile whole(file);
  whole.write(std::as_bytes(std::span(std::string_view("new"))));
  EXPECT_EQ(read_text_file(file), "old");
  whole.commit();
  EXPECT_EQ(read_text_file(file), "new");
}

TEST(WholeFile, AFullDiskIsAnErrorThatNamesTheFile) {
  Descriptor full("/dev/full", 1 /* O_WRONLY */);
  EXPECT_REFUSED(full.write(std::as_bytes(std::span(std::string_view("x")))), Fault::data,
                 "cannot write '/dev/full': No space left");
}

TEST(LineFile, AddsAtItsEndAndIsCutBackToAnEarlierSize) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "lines";
  {
    LineFile lines(file, 0);
    for (const char* line : {"one\n", "two\n", "three\n"}) lines.append(line);
    EXPECT_EQ(lines.size(), 14U);
    EXPECT_EQ(read_text_file(file), "one\ntwo\nthree\n");
  }
  LineFile lines(file, 8);
  lines.append("3\n");
  EXPECT_EQ(read_text_file(file), "one\ntwo\n3\n");
}

TEST(LineFile, AShortenedFileIsRefused) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("lines", "one\n");
  EXPECT_REFUSED(LineFile(file, 8), Fault::data, "has 4 bytes, but the run had written 8");
  EXPECT_EQ(read_text_file(file), "one\n");
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
