/// Verification of faces with the real program: the floor of the AT&T faces, and a list of pairs
/// that another run reads back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/system/program.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::test {
namespace {

using ::testing::HasSubstr;

const std::string file = std::string(SEAM_SOURCE) + "/pipelines/siamese/baseline-pixels-att.toml";

std::filesystem::path faces() {
  const char* const data = std::getenv("SEAM_TEST_DATA");
  return data == nullptr ? std::filesystem::path() : std::filesystem::path(data) / "att_faces";
}

TEST(AttVerification, PixelsOfHeldOutSubjectsAndTheirPairsAgain) {
  if (!std::filesystem::exists(faces())) GTEST_SKIP() << "no att_faces in SEAM_TEST_DATA";
  const TemporaryFolder folder;
  const std::map<std::string, std::string> environment{{"ATT", faces().string()}};
  const std::vector<std::string> held_out{"--set", "stage.items.folds=8", "--set",
                                          "stage.items.part=held_out"};
  std::vector<std::string> drawn{"run",   file,    "--run-dir",
                                 "drawn", "--set", "stage.pairs.pairs=once"};
  drawn.insert(drawn.end(), held_out.begin(), held_out.end());
  const Finished first = seam(drawn, folder.path(), environment);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out + first.err, HasSubstr("450 pairs, 225 of one person and 225 of two"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "drawn/pictures/verification"));

  std::vector<std::string> listed{"run",       file,
                                  "--run-dir", "listed",
                                  "--set",     "stage.pairs.pairs=list",
                                  "--set",     "stage.pairs.list=drawn/pairs/pairs.csv"};
  listed.insert(listed.end(), held_out.begin(), held_out.end());
  const Finished second = seam(listed, folder.path(), environment);
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(text_of_file(folder.path() / "drawn/verification/verification/epoch-0000/roc.csv"),
            text_of_file(folder.path() / "listed/verification/verification/epoch-0000/roc.csv"));

  // The list names subjects that another fold does not serve.
  listed[3] = "other";
  listed.insert(listed.end(), {"--set", "stage.items.fold=1"});
  const Finished other = seam(listed, folder.path(), environment);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("pairs.csv:2: the data set serves no image"));
}

}  // namespace
}  // namespace seam::test
