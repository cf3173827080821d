#include "stages/dataset/command_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <seam/refusal_testing.hpp>
#include <string>

#include "tests/support/kept_environment.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages {
namespace command_output_test {

const auto never = [] { return false; };

std::string read(const OpenFile& file) {
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

TEST(OutputOf, IsAFileWithoutAName) {
  const test::TemporaryFolder folder;
  const test::KeptEnvironment kept;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  const auto file = output_of("printf abc | tr a-c A-C; echo told >&2", "pipe:x", never);
  EXPECT_EQ(file->name(), "pipe:x");
  EXPECT_EQ(read(*file), "ABC");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  ::setenv("TMPDIR", (folder.path() / "none").c_str(), 1);
  EXPECT_REFUSED((void)output_of("true", "pipe:x", never), Fault::configuration, "TMPDIR");
}

TEST(OutputOf, ReportsHowTheCommandFailed) {
  EXPECT_REFUSED(
      (void)output_of("echo begin; echo 'no such bucket' >&2; exit 7", "pipe:x", never),
      Fault::data,
      "the command of 'pipe:x' failed with exit code 7; its stderr ends with: no such bucket");
  EXPECT_REFUSED((void)output_of("kill -9 $$", "pipe:x", never), Fault::data,
                 "was ended by signal 9; it wrote nothing");
  EXPECT_REFUSED((void)output_of("/no/such/program", "pipe:x", never), Fault::data,
                 "exit code 127");
  EXPECT_REFUSED((void)output_of("yes x | head -c 5000 >&2; exit 1", "pipe:x", never), Fault::data,
                 "x\nx");
}

TEST(OutputOf, EndsTheCommandIfTheRunStops) {
  EXPECT_REFUSED((void)output_of("sleep 1000 | sleep 1000", "pipe:x", [] { return true; }),
                 Fault::cancelled, "stopped while reading 'pipe:x'");
}

TEST(OutputOf, GivesTheCommandTheSignalsOfANewProgram) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  EXPECT_REFUSED((void)output_of("kill -TERM $$; sleep 1000", "pipe:x", never), Fault::data,
                 "was ended by signal 15");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace command_output_test
}  // namespace seam::stages
