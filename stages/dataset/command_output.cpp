#include "stages/dataset/command_output.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

fs::path temporary_folder() {
  std::error_code fault;
  fs::path folder = fs::temp_directory_path(fault);
  if (fault) throw Error("TMPDIR is not a folder: " + fault.message(), Fault::configuration);
  return folder;
}

/// The descriptor of a new file without a name.
int nameless_file(const fs::path& folder) {
  std::string pattern = (folder / "seam-XXXXXX").string();
  const int descriptor = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor < 0) {
    throw Error("cannot write a temporary file in '" + folder.string() + "': " + reason_of(errno) +
                "; set TMPDIR to a folder with space");
  }
  ::unlink(pattern.c_str());
  return descriptor;
}

/// Closes a descriptor unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Starts the command in a process group of its own, with the signals of a new program.
::pid_t started(const std::string& command, int output, int errors) {
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string shell = "sh";
  std::string option = "-c";
  std::string text = command;
  const std::array<char*, 4> words{shell.data(), option.data(), text.data(), nullptr};
  ::pid_t child = 0;
  const int failed = ::posix_spawn(&child, "/bin/sh", &actions, &attributes, words.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw Error("cannot start '" + command + "': " + reason_of(failed));
  return child;
}

/// The status of the process when it has ended; nullopt if it was stopped before.
std::optional<int> waited_for(::pid_t process, const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds longest(50);
  int status = 0;
  for (std::chrono::milliseconds pause(1);; pause = std::min(2 * pause, longest)) {
    const ::pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) return status;
    if (ended < 0 && errno != EINTR) {
      throw Error("cannot wait for a command: " + reason_of(errno), Fault::internal);
    }
    if (stop()) break;
    std::this_thread::sleep_for(pause);
  }
  ::kill(-process, SIGKILL);
  ::waitpid(process, &status, 0);
  return std::nullopt;
}

/// The last lines that the command wrote to stderr.
std::string end_of(int errors) {
  constexpr ::off_t most = 2000;
  const ::off_t size = ::lseek(errors, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::clamp<::off_t>(size, 0, most)), '\0');
  const ::ssize_t got =
      ::pread(errors, text.data(), text.size(), std::max<::off_t>(size - most, 0));
  text.resize(static_cast<std::size_t>(std::max<::ssize_t>(got, 0)));
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.empty() ? "it wrote nothing to stderr" : "its stderr ends with: " + text;
}

std::string failure_of(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "failed with exit code " + std::to_string(WEXITSTATUS(status));
}

/// Advice if there is no space left.
std::string advice_for(const fs::path& folder) {
  struct statvfs disk {};
  constexpr std::uint64_t little = 1U << 20U;
  const bool full = ::statvfs(folder.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize < little;
  return full ? "; '" + folder.string() + "' is full: set TMPDIR to a folder with space" : "";
}

}  // namespace

std::shared_ptr<const OpenFile> output_of(const std::string& command, const std::string& name,
                                          const std::function<bool()>& stop) {
  const fs::path folder = temporary_folder();
  Descriptor output(nameless_file(folder));
  const Descriptor errors(nameless_file(folder));
  const std::optional<int> status =
      waited_for(started(command, output.number(), errors.number()), stop);
  if (!status) throw Error("stopped while reading '" + name + "'", Fault::cancelled);
  if (*status != 0) {
    throw Error("the command of '" + name + "' " + failure_of(*status) + "; " +
                end_of(errors.number()) + advice_for(folder));
  }
  return std::make_shared<const OpenFile>(output.release(), name);
}

}  // namespace seam::stages
