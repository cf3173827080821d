#include "stages/dataset/command_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace seam::stages {
namespace {

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor& operator=(Descriptor&&) = delete;  // not copyable

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void close() {
    if (number_ >= 0) ::close(release());
  }

 private:
  int number_;
};

/// A command in a process group of its own, with the signals of a new program.
class Command {
 public:
  Command(const std::string& text, int output) {
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawnattr_t attributes{};
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    std::array<std::string, 3> words{"sh", "-c", text};
    const std::array<char*, 4> given{words[0].data(), words[1].data(), words[2].data(), nullptr};
    const int failed =
        ::posix_spawn(&process_, "/bin/sh", &actions, &attributes, given.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw Error("cannot start '" + text + "': " + reason_of(failed));
  }
  ~Command() {
    if (ended_) return;
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, &status_, 0);
  }
  Command& operator=(Command&&) = delete;  // not copyable

  [[nodiscard]] bool has_ended() {
    const ::pid_t process = ::waitpid(process_, &status_, WNOHANG);
    ended_ = process != 0;
    if (process < 0) throw Error("the exit code of a command is not known: " + reason_of(errno));
    return ended_;
  }

  /// Empty if it succeeded.
  [[nodiscard]] std::string failure() const {
    if (WIFSIGNALED(status_)) return "was ended by signal " + std::to_string(WTERMSIG(status_));
    if (status_ == 0) return "";
    return "failed with exit code " + std::to_string(WEXITSTATUS(status_));
  }

 private:
  ::pid_t process_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

/// The descriptor of a new file without a name.
int nameless_file(const std::filesystem::path& folder) {
  std::string pattern = (folder / "seam-XXXXXX").string();
  const int descriptor = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(pattern.c_str());
  return descriptor;
}

}  // namespace

std::shared_ptr<const OpenFile> output_of(const std::string& command, const std::string& name,
                                          const std::function<bool()>& stop) {
  std::error_code fault;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(fault);
  if (fault) throw Error("TMPDIR is not a folder: " + fault.message(), Fault::configuration);
  const auto check_written = [&](bool written) {
    if (written) return;
    throw Error("the output of '" + name + "' cannot be written to '" + folder.string() +
                (errno == ENOSPC ? "', which is full" : "': " + reason_of(errno)) +
                (errno == EMFILE ? ": raise the limit: ulimit -n 65536"
                                 : ": set TMPDIR to a folder with space"));
  };
  Descriptor file(nameless_file(folder));
  check_written(file.number() >= 0);
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("cannot make a pipe: " + reason_of(errno));
  const Descriptor output(ends[0]);
  Descriptor input(ends[1]);
  Command running(command, input.number());
  input.close();

  std::array<char, 1U << 16U> bytes{};
  ::pollfd wait{output.number(), POLLIN, 0};
  const auto at_end = [&] { return wait.fd < 0; };
  while (!at_end() || !running.has_ended()) {
    if (stop()) throw Error("stopped while reading '" + name + "'", Fault::cancelled);
    if (::poll(&wait, 1, at_end() ? 1 : 50) <= 0) continue;
    const ::ssize_t got = ::read(output.number(), bytes.data(), bytes.size());
    if (got == 0) wait.fd = -1;
    for (::ssize_t from = 0; from < got;) {
      const ::ssize_t put = ::write(file.number(), &bytes.at(static_cast<std::size_t>(from)),
                                    static_cast<std::size_t>(got - from));
      check_written(put >= 0 || errno == EINTR);
      from += std::max<::ssize_t>(put, 0);
    }
  }
  if (const std::string failure = running.failure(); !failure.empty()) {
    throw Error("the command of '" + name + "' " + failure);
  }
  return std::make_shared<const OpenFile>(file.release(), name);
}

}  // namespace seam::stages
