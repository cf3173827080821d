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
namespace verification_test {

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

  // The list names subjects that a different fold does not contain.
  listed[3] = "other";
  listed.insert(listed.end(), {"--set", "stage.items.fold=1"});
  const Finished other = seam(listed, folder.path(), environment);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("pairs.csv:2: the data set has no image"));
}

const std::string trained = std::string(SEAM_SOURCE) + "/pipelines/siamese/att-lenet.toml";

TEST(AttVerification, PeopleOfTheTrainingAreNotMeasured) {
  if (!std::filesystem::exists(faces())) GTEST_SKIP() << "no att_faces in SEAM_TEST_DATA";
  const TemporaryFolder folder;
  const std::map<std::string, std::string> environment{{"ATT", faces().string()}};
  const Finished leaking =
      seam({"run", trained, "--run-dir", "leaking", "--set", "schedule.epochs=1", "--set",
            "stage.train_pairs.count=32", "--set", "stage.test_items.fold_seed=1"},
           folder.path(), environment);
  EXPECT_EQ(leaking.exit_code, 2);
  EXPECT_THAT(leaking.err, HasSubstr("whom `trained_on` serves to training"));
}

TEST(AttVerification, FoldsAndSeedsAreASweep) {
  if (!std::filesystem::exists(faces())) GTEST_SKIP() << "no att_faces in SEAM_TEST_DATA";
  const TemporaryFolder folder;
  const Finished swept =
      seam({"sweep", trained, "--sweep-dir", "swept", "--over", "stage.train_items.fold=0..1",
            "--over", "pipeline.seed=1..2", "--set", "stage.train_items.folds=5", "--set",
            "stage.verification.protocol=att/5-folds-of-8-subjects", "--set", "schedule.epochs=1",
            "--set", "stage.train_pairs.count=32"},
           folder.path(), {{"ATT", faces().string()}});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  // 8 subjects give 360 pairs of one person and 360 of two: the four runs are one row.
  EXPECT_THAT(swept.out, HasSubstr("verification.accuracy of the last epoch"));
  EXPECT_THAT(swept.out, HasSubstr("4 runs"));
  EXPECT_THAT(swept.out, ::testing::Not(HasSubstr("ranked separately")));
  const std::string report = text_of_file(folder.path() / "swept/fold=1,seed=2/run.log");
  EXPECT_THAT(report, HasSubstr("serving 320 of 400 images, part 'train' of fold 1 of 5"));
  EXPECT_THAT(report, HasSubstr("720 pairs of 80 images, 360 of them of one item"));
}

TEST(AttVerification, ModelsAreComparedPairByPair) {
  if (!std::filesystem::exists(faces())) GTEST_SKIP() << "no att_faces in SEAM_TEST_DATA";
  const TemporaryFolder folder;
  const Finished swept =
      seam({"sweep", std::string(SEAM_SOURCE) + "/pipelines/siamese/baseline-pixels-att.toml",
            "--sweep-dir", "swept", "--over", "stage.resize.height,stage.resize.width=8,16",
            "--over", "stage.items.fold=0..1", "--set", "stage.items.folds=5", "--set",
            "stage.items.part=held_out", "--set", "stage.pairs.pairs=once"},
           folder.path(), {{"ATT", faces().string()}});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const Finished compared = seam({"compare", "swept", "--paired"}, folder.path());
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  // Within a fold, pairs connect its 8 people.
  EXPECT_THAT(compared.out, HasSubstr("paired on 1440 observations in 2 clusters"));
}

}  // namespace verification_test
}  // namespace seam::test
