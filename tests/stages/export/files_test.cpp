#include <limits>

#include "stages/export/csv.hpp"
#include "stages/export/embeddings.hpp"
#include "stages/export/exported_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::files_test {

namespace fs = std::filesystem;

TEST(Csv, LinesAndNumbersAreReadAsTheSame) {
  EXPECT_EQ(csv_line({"a", "", "b c"}), "a,,b c\n");
  EXPECT_EQ(csv_line({"a,b", "the \"best\"", "two\nlines", " x", "x "}),
            "\"a,b\",\"the \"\"best\"\"\",\"two\nlines\",\" x\",\"x \"\n");
  EXPECT_EQ(csv_number(0.1F), "0.1");
  EXPECT_EQ(csv_number(-0.0F), "-0");
  EXPECT_EQ(csv_number(16777216.0F), "16777216");
  EXPECT_EQ(std::stof(csv_number(1.0F / 3)), 1.0F / 3);
}

TEST(Npy, TheHeaderHasOneSizeWhateverItSays) {
  const std::string header = npy_header(3, 128, StoredAs::float32);
  EXPECT_EQ(header.size(), 128U);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(header.substr(10),
              StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 128), } "));
  EXPECT_THAT(header, EndsWith(" \n"));
  EXPECT_THAT(npy_header(3, 128, StoredAs::float16).substr(10), StartsWith("{'descr': '<f2', "));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(npy_header(most, most, StoredAs::float16).size(), 128U);
}

TEST(ExportedFile, AppearsWithItsCommit) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "deep/a.txt";
  ExportedFile file(path);
  file.write("0 rows");
  file.rewrite_start("7");
  file.finish();
  EXPECT_FALSE(fs::exists(path));
  file.commit();
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(fs::file_size(path), 6U);
  EXPECT_FALSE(fs::exists(path.string() + ".part"));
}

TEST(ExportedFile, LeavesNothingWithoutACommit) {
  const test::TemporaryFolder folder;
  folder.write("a.txt", "the one before");
  {
    ExportedFile file(folder.path() / "a.txt");
    file.write("half");
    const ExportedFile moved = std::move(file);
  }
  EXPECT_EQ(fs::file_size(folder.path() / "a.txt"), 14U);
  EXPECT_FALSE(fs::exists(folder.path() / "a.txt.part"));
}

void write(const fs::path& path) {
  ExportedFile file(path);
  file.write(std::string(1 << 20, 'x'));
  file.finish();
}

TEST(ExportedFile, SaysWhatItCannotWrite) {
  const test::TemporaryFolder folder;
  EXPECT_REFUSED(write("/proc/no/a.txt"), Fault::data, "'/proc/no/a.txt' cannot be written: ");
  EXPECT_REFUSED(write(folder.path()), Fault::data, "cannot be written: Is a directory");
  fs::create_symlink("/dev/full", folder.path() / "full.part");
  EXPECT_REFUSED(write(folder.path() / "full"), Fault::data, "No space left on device");
}

}  // namespace seam::stages::files_test
