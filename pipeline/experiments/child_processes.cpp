#include "pipeline/experiments/child_processes.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "pipeline/run/files.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

sigset_t watched() {
  sigset_t set = stop_signal_set();
  sigaddset(&set, SIGCHLD);
  return set;
}

/// After fork(): only calls that are safe in a copy of a process with several threads.
struct Birth {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* folder;
  int output;
  pid_t parent;
  const sigset_t* signals;

  [[noreturn]] void go() const {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const bool orphan = ::getppid() != parent;  // it died before prctl()
    ::pthread_sigmask(SIG_SETMASK, signals, nullptr);
    if (!orphan && ::chdir(folder) == 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
        ::dup2(output, STDERR_FILENO) >= 0) {
      ::execve(program, arguments, environment);
    }
    constexpr int not_started = 127;
    ::_exit(not_started);
  }
};

}  // namespace

ChildProcesses::ChildProcesses() {
  const sigset_t set = watched();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that closes the pipe must not end the runs
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  if (signals_ < 0) {
    throw Error("cannot watch for signals: " + std::generic_category().message(errno),
                Fault::internal);
  }
}

ChildProcesses::~ChildProcesses() {
  pass_on(SIGTERM);
  for (const auto& [process, id] : children_) ::waitpid(process, nullptr, 0);
  ::close(signals_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void ChildProcesses::start(int id, const ChildCommand& command) {
  std::vector<std::string> arguments{command.program.string()};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment;
  for (const auto& [name, value] : command.environment) {
    std::string variable = name;
    variable += '=';
    variable += value;
    environment.push_back(std::move(variable));
  }
  const Descriptor output(command.output, O_WRONLY | O_CREAT | O_APPEND);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  const std::string program = command.program.string();
  const std::string folder = command.folder.string();
  const Birth birth{program.c_str(), argument_pointers.data(), environment_pointers.data(),
                    folder.c_str(),  output.number(),          ::getpid(),
                    &before_};
  const pid_t process = ::fork();
  if (process == 0) birth.go();
  if (process < 0) throw Error("cannot start a process: " + std::generic_category().message(errno));
  children_.emplace(process, id);
}

bool ChildProcesses::stop_pending() {
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  const sigset_t stop = stop_signal_set();
  sigset_t both;
  ::sigandset(&both, &pending, &stop);
  return ::sigisemptyset(&both) == 0;
}

ChildProcesses::Event ChildProcesses::wait() {
  while (true) {
    if (auto end = ended()) return {end, requests_};
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof(info)) != sizeof(info)) continue;  // EINTR
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    const int count = counter_.note(signal, std::chrono::steady_clock::now());
    if (count == 0) continue;
    requests_ = count;
    // Signals from the kernel, such as Ctrl-C, have also reached the children, which are in this
    // process's group.
    if (info.ssi_code != SI_KERNEL) pass_on(signal);
    return {std::nullopt, requests_};
  }
}

std::optional<ChildEnd> ChildProcesses::ended() {
  for (auto child = children_.begin(); child != children_.end(); ++child) {
    int status = 0;
    if (::waitpid(child->first, &status, WNOHANG) != child->first) continue;
    ChildEnd end;
    end.id = child->second;
    if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    children_.erase(child);
    return end;
  }
  return std::nullopt;
}

void ChildProcesses::pass_on(int signal) const {
  for (const auto& [process, id] : children_) ::kill(process, signal);
}

}  // namespace seam::host
