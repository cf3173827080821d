#include "stages/dataset/command_output.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <seam/refusal_testing.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "tests/support/kept_environment.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::command_output_test {

const auto never = [] { return false; };

/// A process that has ended stays, as a zombie, if process 1 does not wait for it, as in some
/// containers.
bool lives(::pid_t group) {
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "stat");  // 12 (its name) S 1 12 ...
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    char state = 0;
    ::pid_t parent = 0;
    ::pid_t its_group = 0;
    fields >> state >> parent >> its_group;
    if (its_group == group && state != 'Z') return true;
  }
  return false;
}

/// Whether no process of the group is left within 10 s.
bool ends(::pid_t group) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (!lives(group)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

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
  EXPECT_REFUSED((void)output_of("echo begin; exit 7", "pipe:x", never), Fault::data,
                 "the command of 'pipe:x' failed with exit code 7");
  EXPECT_REFUSED((void)output_of("kill -9 $$", "pipe:x", never), Fault::data,
                 "the command of 'pipe:x' was ended by signal 9");
  EXPECT_REFUSED((void)output_of("/no/such/program", "pipe:x", never), Fault::data,
                 "exit code 127");
  EXPECT_REFUSED((void)output_of("exec >&-; sleep 0.1; exit 3", "pipe:x", never), Fault::data,
                 "exit code 3");
}

TEST(OutputOf, HoldsMoreThanAPipe) {
  const auto file = output_of("yes abc | head -c 3000001", "pipe:x", never);
  EXPECT_EQ(file->size(), 3'000'001U);
  EXPECT_EQ(read(*file).substr(2'999'996), "abc\na");
}

TEST(OutputOf, EndsTheWholeCommandIfTheRunStops) {
  const test::TemporaryFolder folder;
  const std::filesystem::path group = folder.path() / "group";
  for (const char* before : {"", "exec >&-; "}) {
    std::filesystem::remove(group);
    const std::string command =
        before + ("echo $$ >" + group.string() + "; sleep 1000 | sleep 1000");
    const auto started = [&] {
      return std::filesystem::exists(group) && std::filesystem::file_size(group) > 0;
    };
    EXPECT_REFUSED((void)output_of(command, "pipe:x", started), Fault::cancelled,
                   "stopped while reading 'pipe:x'");
    ::pid_t leader = 0;
    std::ifstream(group) >> leader;
    ASSERT_GT(leader, 0);
    EXPECT_TRUE(ends(leader));
  }
}

TEST(OutputOf, NamesTheFolderThatCannotHoldIt) {
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const struct rlimit little { 100'000, before.rlim_max };
  const auto kept = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &little);
  EXPECT_REFUSED((void)output_of("yes", "pipe:x", never), Fault::data,
                 "the output of 'pipe:x' cannot be written to '");
  EXPECT_REFUSED((void)output_of("yes", "pipe:x", never), Fault::data,
                 "File too large: set TMPDIR to a folder with space");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, kept);
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

}  // namespace seam::stages::command_output_test
