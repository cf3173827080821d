#include "pipeline/run/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/run/checksum.hpp"
#include "pipeline/run/files.hpp"
#include "seam/error.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host {
namespace {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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

/// The bytes with the checksum of what they now say: damage that no checksum shows.
std::vector<std::byte> with_checksum(std::vector<std::byte> bytes) {
  Crc64 checksum;
  checksum.add(std::span(bytes).first(bytes.size() - 8));
  const std::uint64_t sum = checksum.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, sizeof(sum));
  return bytes;
}

/// The bytes with `before` replaced by `after` of the same size, where it stands first.
std::vector<std::byte> replaced(std::vector<std::byte> bytes, std::span<const std::byte> before,
                                std::span<const std::byte> after) {
  const auto found = std::search(bytes.begin(), bytes.end(), before.begin(), before.end());
  EXPECT_NE(found, bytes.end());
  if (found != bytes.end()) std::ranges::copy(after, found);
  return with_checksum(std::move(bytes));
}

/// A fitting file whose "weights" is f32 of another shape, with the 24 bytes of f32[2,3].
std::vector<std::byte> with_shape(const std::vector<std::byte>& bytes,
                                  std::array<std::int64_t, 2> shape) {
  constexpr std::array<std::int64_t, 2> before{2, 3};
  return replaced(bytes, std::as_bytes(std::span(before)), std::as_bytes(std::span(shape)));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_F(CheckpointTest, AShapeThatIsNotThatOfItsBytesIsNoticed) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  write_checkpoint(file(), example());
  const auto whole = read_file(file());
  EXPECT_EQ(complaint(with_shape(whole, {3, 2})), "accepted");
  EXPECT_THAT(
      complaint(with_shape(whole, {2000, 3})),
      HasSubstr("is damaged: saved entry 'weights' has 24 bytes, but f32[2000,3] takes 24000"));
  EXPECT_THAT(complaint(with_shape(whole, {-2, -3})), HasSubstr("a negative size"));
  // 4 * (2^62 + 1) * 6 is 24 in 64 bits.
  EXPECT_THAT(complaint(with_shape(whole, {(std::int64_t{1} << 62) + 1, 6})),
              HasSubstr("more than memory can hold"));
  EXPECT_THAT(complaint(with_shape(whole, {huge, huge})), HasSubstr("more than memory can hold"));
}

TEST_F(CheckpointTest, AnUnknownElementTypeIsNoticed) {
  write_checkpoint(file(), example());
  EXPECT_THAT(complaint(replaced(read_file(file()), bytes_of("f32"), bytes_of("f99"))),
              HasSubstr("is damaged: saved entry 'empty' has elements of an unknown type 'f99'"));
}

TEST_F(CheckpointTest, NamesThatComeTwiceAreNoticed) {
  Checkpoint twice = example();
  twice.stages.push_back(twice.stages[1]);
  write_checkpoint(file(), twice);
  EXPECT_THAT(complaint(read_file(file())), HasSubstr("two sections 'adam'"));

  Checkpoint entries = example();
  entries.stages[1].archive.put("one", 1.0);
  entries.stages[1].archive.put("two", 2.0);
  write_checkpoint(file(), entries);
  EXPECT_THAT(complaint(replaced(read_file(file()), bytes_of("two"), bytes_of("one"))),
              HasSubstr("section 'adam' has two entries 'one'"));
}

TEST_F(CheckpointTest, ARunThatContradictsItselfIsNoticed) {
  Checkpoint backwards = example();
  backwards.position.epochs_done = -1;
  write_checkpoint(file(), backwards);
  EXPECT_THAT(complaint(read_file(file())), HasSubstr("'epochs_done' is negative"));

  write_checkpoint(file(), example());
  EXPECT_THAT(
      complaint(replaced(read_file(file()), bytes_of("timing_size"), bytes_of("timing_hour"))),
      HasSubstr("is damaged: the saved state has no entry 'timing_size'"));
}

TEST_F(CheckpointTest, AFileWithoutSectionsIsNoticed) {
  write_checkpoint(file(), Checkpoint());
  auto bytes = read_file(file());
  constexpr std::size_t head = 8 + 4 + 4 + 8;
  bytes.resize(head + 4 + 8);
  const std::uint64_t size = bytes.size();
  std::memcpy(bytes.data() + 16, &size, sizeof(size));
  std::memset(bytes.data() + head, 0, 4);
  EXPECT_THAT(complaint(with_checksum(bytes)), HasSubstr("it has no section of the run"));
}

TEST_F(CheckpointTest, AnotherByteOrderIsNotCalledDamaged) {
  write_checkpoint(file(), example());
  auto bytes = read_file(file());
  std::reverse(bytes.begin() + 12, bytes.begin() + 16);
  EXPECT_THAT(complaint(bytes), AllOf(HasSubstr("other byte order"), Not(HasSubstr("damaged"))));
}

TEST_F(CheckpointTest, ALyingSizeWithAFittingChecksumIsNoticed) {
  write_checkpoint(file(), example());
  auto bytes = read_file(file());
  // The first section's name: claim that it has four billion bytes.
  constexpr std::size_t name_size_at = 8 + 4 + 4 + 8 + 4;
  const std::uint32_t lie = 0xFFFFFFFFU;
  std::memcpy(bytes.data() + name_size_at, &lie, sizeof(lie));
  EXPECT_THAT(complaint(with_checksum(bytes)), HasSubstr("promises 4294967295 bytes"));
}

TEST_F(CheckpointTest, AnotherFormatIsNotCalledDamaged) {
  write_checkpoint(file(), example());
  auto bytes = read_file(file());
  bytes[8] = std::byte{99};
  EXPECT_THAT(complaint(bytes), HasSubstr("has format 99"));
}

TEST(CheckpointCorpus, IsOfTheFormatThatIsRead) {
  // Of an older one, the fuzzer would never get past the head.
  const fs::path corpus = fs::path(SEAM_SOURCE) / "tests/fuzz/corpus/checkpoint";
  EXPECT_EQ(read_checkpoint(corpus / "counting.seam").stages.size(), 1U);
  EXPECT_EQ(read_checkpoint(corpus / "tensors.seam").stages.size(), 2U);
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
  ASSERT_EQ(newest.damaged.size(), 1U);
  EXPECT_THAT(newest.damaged[0].how, HasSubstr("epoch-2.seam' is damaged"));
}

TEST_F(CheckpointFolderTest, ADamagedFileIsKeptUnderAnotherName) {
  write(1, 1);
  for (const char* aside : {"epoch-2.seam.damaged", "epoch-2.seam.damaged-2"}) {
    write(2, 2);
    damage("epoch-2.seam");
    const CheckpointFolder::Newest newest = checkpoints().newest();
    ASSERT_EQ(newest.damaged.size(), 1U);
    EXPECT_EQ(CheckpointFolder::set_aside(newest.damaged[0].file).filename(), aside);
    EXPECT_THAT(names(), ElementsAre("epoch-1.seam"));
    EXPECT_EQ(fs::file_size(folder_.path() / "checkpoints" / aside), 40U);
  }
  for (std::int64_t epochs = 2; epochs <= 6; ++epochs) write(epochs, epochs);
  EXPECT_TRUE(fs::exists(folder_.path() / "checkpoints/epoch-2.seam.damaged"));
}

/// What looking for the newest says.
std::string refusal(const CheckpointFolder& folder) {
  try {
    (void)folder.newest();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::data);
    return error.what();
  }
  return "accepted";
}

TEST_F(CheckpointFolderTest, AFileThatCannotBeReadIsNotPassedOver) {
  write(1, 1);
  const fs::path two = folder_.path() / "checkpoints/epoch-2.seam";
  fs::create_directory(two);
  EXPECT_THAT(refusal(checkpoints()),
              AllOf(HasSubstr("epoch-2.seam': Is a directory"), HasSubstr("make it readable")));
  fs::remove(two);
  fs::create_symlink(two, two);
  EXPECT_THAT(refusal(checkpoints()), HasSubstr("epoch-2.seam': Too many levels"));
  EXPECT_THAT(names(), ElementsAre("epoch-2.seam", "epoch-1.seam")) << "nothing was removed";
}

TEST_F(CheckpointFolderTest, AFolderThatCannotBeLookedThroughIsNotAnEmptyOne) {
  folder_.write("checkpoints", "a file");
  EXPECT_THAT(refusal(checkpoints()), HasSubstr("checkpoints': Not a directory"));
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
