#include "pipeline/run/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "pipeline/run/checksum.hpp"
#include "pipeline/run/files.hpp"
#include "seam/error.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host {
namespace {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Checkpoint example(std::int64_t epochs = 12) {
  Checkpoint checkpoint;
  checkpoint.position = {true, epochs, false, 0.1, 9, 3, 12, false};
  checkpoint.metrics_size = 1234;
  checkpoint.timing_size = 567;
  checkpoint.skipped_size = 89;
  checkpoint.skipped_packets = 4;
  checkpoint.pipeline_hash = "abc";
  checkpoint.plugins = "hash path\n";
  StageState model{"model", "model.sccapsnet", {}};
  Archive::Entry weights{"f32", {2, 3}, std::vector<std::byte>(24)};
  for (std::size_t i = 0; i < 24; ++i) weights.bytes[i] = static_cast<std::byte>(i * 11);
  model.archive.put("weights", weights);
  model.archive.put("step", std::numeric_limits<std::int64_t>::min());
  model.archive.put("empty", Archive::Entry{"f32", {0, 3}, {}});
  checkpoint.stages.push_back(model);
  checkpoint.stages.push_back({"adam", "optimizer.adam", {}});
  StageState large{"large", "x", {}};  // more than is buffered at once
  large.archive.put("bytes",
                    Archive::Entry{"u8", {300'000}, std::vector<std::byte>(300'000, std::byte{7})});
  checkpoint.stages.push_back(large);
  return checkpoint;
}

class CheckpointTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path file() const { return folder_.path() / "epoch-12.seam"; }

  /// What reading says of a file with these bytes.
  std::string complaint(const std::vector<std::byte>& bytes) const {
    folder_.write("epoch-12.seam", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    try {
      read_checkpoint(file());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
};

TEST_F(CheckpointTest, ReadsBackWhatWasWritten) {
  write_checkpoint(file(), example());
  EXPECT_EQ(read_checkpoint(file()), example());
}

TEST_F(CheckpointTest, APositionWithoutABestStaysWithout) {
  Checkpoint checkpoint;
  write_checkpoint(file(), checkpoint);
  EXPECT_EQ(read_checkpoint(file()), checkpoint);
}

TEST_F(CheckpointTest, TheSameStateIsTheSameBytes) {
  write_checkpoint(file(), example());
  const auto first = read_file(file());
  write_checkpoint(file(), example());
  EXPECT_EQ(read_file(file()), first);
}

TEST_F(CheckpointTest, ATruncationIsNoticedWherever) {
  Checkpoint small = example();
  small.stages.resize(2);
  write_checkpoint(file(), small);
  const auto whole = read_file(file());
  for (std::size_t size = 0; size < whole.size(); size += 5) {
    ASSERT_THAT(complaint({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}),
                HasSubstr("is damaged"))
        << size;
  }
}

TEST_F(CheckpointTest, AFlippedBitIsNoticedWherever) {
  Checkpoint small = example();
  small.stages.resize(1);
  write_checkpoint(file(), small);
  const auto whole = read_file(file());
  for (std::size_t bit = 0; bit < whole.size() * 8; bit += 29) {
    auto bytes = whole;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    ASSERT_NE(complaint(bytes), "accepted") << bit;
  }
}

TEST_F(CheckpointTest, WhatFollowsTheEndIsNoticed) {
  write_checkpoint(file(), example());
  auto bytes = read_file(file());
  bytes.push_back(std::byte{0});
  EXPECT_THAT(complaint(bytes), HasSubstr("is damaged"));
}

TEST_F(CheckpointTest, ALyingSizeWithAFittingChecksumIsNoticed) {
  write_checkpoint(file(), example());
  auto bytes = read_file(file());
  // The first section's name: claim that it has four billion bytes.
  constexpr std::size_t name_size_at = 8 + 4 + 4 + 8 + 4;
  const std::uint32_t lie = 0xFFFFFFFFU;
  std::memcpy(bytes.data() + name_size_at, &lie, sizeof(lie));
  Crc64 checksum;
  checksum.add(std::span(bytes).first(bytes.size() - 8));
  const std::uint64_t sum = checksum.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, sizeof(sum));
  EXPECT_THAT(complaint(bytes), HasSubstr("promises 4294967295 bytes"));
}

TEST_F(CheckpointTest, AnotherFormatIsNotCalledDamaged) {
  write_checkpoint(file(), example());
  auto bytes = read_file(file());
  bytes[8] = std::byte{99};
  EXPECT_THAT(complaint(bytes), HasSubstr("has format 99"));
}

class CheckpointFolderTest : public CheckpointTest {
 protected:
  [[nodiscard]] CheckpointFolder checkpoints() const {
    return CheckpointFolder(folder_.path() / "checkpoints");
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const fs::path& path : checkpoints().files()) names.push_back(path.filename());
    return names;
  }
  void write(std::int64_t epochs, std::int64_t best_epochs) const {
    Checkpoint checkpoint;
    checkpoint.position.epochs_done = epochs;
    checkpoint.position.best = 1;
    checkpoint.position.best_epochs = best_epochs;
    checkpoints().write(checkpoint);
  }
  void damage(const std::string& name) const {
    fs::resize_file(folder_.path() / "checkpoints" / name, 40);
  }
};

TEST_F(CheckpointFolderTest, KeepsTheLastTwoAndTheBest) {
  for (std::int64_t epochs = 1; epochs <= 12; ++epochs) write(epochs, epochs < 5 ? epochs : 5);
  EXPECT_THAT(names(), ElementsAre("epoch-12.seam", "epoch-11.seam", "epoch-5.seam"));
}

TEST_F(CheckpointFolderTest, OtherFilesAreLeftAlone) {
  folder_.write("checkpoints/epoch-x.seam", "");
  folder_.write("checkpoints/epoch-3.seam.part", "");
  folder_.write("checkpoints/notes.txt", "");
  for (std::int64_t epochs = 1; epochs <= 4; ++epochs) write(epochs, epochs);
  EXPECT_THAT(names(), ElementsAre("epoch-4.seam", "epoch-3.seam"));
  EXPECT_TRUE(fs::exists(folder_.path() / "checkpoints/notes.txt"));
}

TEST_F(CheckpointFolderTest, TheNewestThatIsWholeIsUsed) {
  write(1, 1);
  write(2, 2);
  EXPECT_EQ(checkpoints().newest().checkpoint->position.epochs_done, 2);
  damage("epoch-2.seam");
  const CheckpointFolder::Newest newest = checkpoints().newest();
  EXPECT_EQ(newest.checkpoint->position.epochs_done, 1);
  EXPECT_EQ(newest.file.filename(), "epoch-1.seam");
  EXPECT_THAT(newest.damaged, ElementsAre(HasSubstr("epoch-2.seam' is damaged")));
  checkpoints().remove_newer_than(newest.file);
  EXPECT_THAT(names(), ElementsAre("epoch-1.seam"));
}

TEST_F(CheckpointFolderTest, NoFilesAreNoFault) {
  EXPECT_EQ(checkpoints().newest().checkpoint, std::nullopt);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(CheckpointFolderTest, OnlyDamagedFilesAreOne) {
  write(1, 1);
  damage("epoch-1.seam");
  try {
    (void)checkpoints().newest();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::data);
    EXPECT_THAT(error.what(), HasSubstr("epoch-1.seam' is damaged"));
  }
}

}  // namespace
}  // namespace seam::host
