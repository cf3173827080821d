#include "stages/dataset/idx_file.hpp"

#include <zlib.h>

#include "tests/stages/dataset/idx_files.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::idx_file_test {

class IdxFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string error_with(const std::string& content, int dimensions = 1) const {
    folder_.write("file", content);
    return error_of(
        [&] { static_cast<void>(read_idx(folder_.path() / "file", dimensions, "labels")); });
  }
  TemporaryFolder folder_;
};

TEST_F(IdxFile, IsReadCompressedOrNot) {
  const std::string content = idx({2, 1, 3}, "abcdef");
  folder_.write("plain", content);
  write_file_compressed(folder_.path() / "compressed", content);
  for (const char* name : {"plain", "compressed"}) {
    const IdxArray array = read_idx(folder_.path() / name, 3, "pictures");
    EXPECT_THAT(array.sizes, ElementsAre(2, 1, 3));
    EXPECT_THAT(array.values, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  }
}

TEST_F(IdxFile, RefusesWhatIsNoSuchFile) {
  EXPECT_THAT(error_with(""), HasSubstr("is not an idx file"));
  EXPECT_THAT(error_with("a text"), HasSubstr("is not an idx file"));
  EXPECT_THAT(error_with(std::string(2, '\0')), HasSubstr("is not an idx file"));
  EXPECT_REFUSED(static_cast<void>(read_idx(folder_.path() / "none", 1, "labels")), Fault::data,
                 "no file");
  EXPECT_THAT(error_with(idx({2, 1, 3}, "abcdef")), HasSubstr("swapped"));
  std::string floats = idx({2}, "ab");
  floats[2] = '\x0D';
  EXPECT_THAT(error_with(floats), HasSubstr("type 13"));
}

TEST_F(IdxFile, RefusesOtherLengthsAndSizesThatCannotBe) {
  const std::string content = idx({4}, "abcd");
  for (std::size_t length = 0; length < content.size(); ++length) {
    EXPECT_NE(error_with(content.substr(0, length)), "no error") << length;
  }
  EXPECT_THAT(error_with(content.substr(0, 6)), HasSubstr("within its header"));
  EXPECT_THAT(error_with(content.substr(0, 11)), HasSubstr("4 bytes, but 3 follow"));
  EXPECT_EQ(error_with(content), "no error");
  EXPECT_THAT(error_with(content + "e"), HasSubstr("longer than its declared sizes"));
  EXPECT_THAT(error_with(idx({0}, "")), HasSubstr("is empty"));
  EXPECT_THAT(error_with(idx({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "abc"), 3),
              HasSubstr("more than 16 GiB"));
}

TEST_F(IdxFile, RefusesACompressedFileThatIsCutOrDamaged) {
  write_file_compressed(folder_.path() / "whole", idx({1000}, std::string(1000, 'x')));
  const std::string whole = test::text_of_file(folder_.path() / "whole");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(error_with(whole.substr(0, length)), "no error") << length;
  }
  EXPECT_EQ(error_with(whole), "no error");
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(error_with(damaged), HasSubstr("damaged or truncated"));
}

}  // namespace seam::stages::idx_file_test
