#include "pipeline/run/rank_folder.hpp"

#include <gtest/gtest.h>
#include <seam/refusal_testing.hpp>

#include <cstdlib>

#include "pipeline/run/files.hpp"
#include "tests/support/kept_environment.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::rank_folder_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

TEST(RankFolder, ANewRunHasAFolderThatIsRemoved) {
  fs::path run;
  {
    const RankFolder folder;
    run = folder.empty();
    EXPECT_FALSE(fs::exists(run));
    fs::create_directories(run / "reports");
  }
  EXPECT_FALSE(fs::exists(run.parent_path()));
}

TEST(RankFolder, WhatARankDoesToTheRunThatItResumesDoesNotReachTheRun) {
  const TemporaryFolder run;
  fs::create_directories(run.path() / "checkpoints");
  fs::create_directories(run.path() / "export");
  write_whole_file(run.path() / "metrics.jsonl", "one\n");
  write_whole_file(run.path() / "export/embeddings.npy", "large");
  fs::create_symlink("nothing", run.path() / "link");
  write_whole_file(run.path() / "checkpoints/epoch-1.safetensors", "weights");
  {
    const RankFolder folder;
    const fs::path copy = folder.copy_of(run.path());
    EXPECT_EQ(read_text_file(copy / "metrics.jsonl"), "one\n");
    EXPECT_FALSE(fs::exists(copy / "export")) << "a resumed run does not read it";
    EXPECT_EQ(read_text_file(copy / "checkpoints/epoch-1.safetensors"), "weights");
    EXPECT_TRUE(fs::is_symlink(copy / "checkpoints/epoch-1.safetensors")) << "it may be large";
    LineFile(copy / "metrics.jsonl", 0).append("three\n");
    fs::remove(copy / "checkpoints/epoch-1.safetensors");
  }
  EXPECT_EQ(read_text_file(run.path() / "metrics.jsonl"), "one\n");
  EXPECT_EQ(read_text_file(run.path() / "checkpoints/epoch-1.safetensors"), "weights");
}

TEST(RankFolder, NeedsAFolderForTemporaryFiles) {
  const seam::test::KeptEnvironment environment;
  ::setenv("TMPDIR", "/nowhere", 1);
  EXPECT_REFUSED(RankFolder(), Fault::data,
                 "cannot create a temporary folder: No such file or directory; set TMPDIR to a "
                 "folder that exists and can be written to");
}

}  // namespace seam::host::rank_folder_test
