#include "pipeline/run/crash_report.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

#include "pipeline/graph/alternate_stack.hpp"
#include "sdk/src/running_call.hpp"
#include "seam/packet.hpp"

namespace seam::host {
namespace {

struct Crash {
  int signal;
  const char* name;
};
constexpr std::array<Crash, 5> crashes{{{SIGSEGV, "segmentation fault"},
                                        {SIGBUS, "bus error"},
                                        {SIGILL, "illegal instruction"},
                                        {SIGFPE, "arithmetic error"},
                                        {SIGABRT, "abort"}}};
constexpr std::string_view file_name = "crash.txt";
constexpr std::string_view head = "crash: ";

// Data for the handlers, which are called without arguments.
constexpr std::size_t longest_path = 4096;
std::array<char, longest_path> crash_file{};
std::array<struct sigaction, crashes.size()> before{};

/// Writes to standard error and to the file. Safe in a signal handler: it allocates no memory and
/// takes no locks.
class Report {
 public:
  explicit Report(int terminal)
      : terminal_(terminal),
        file_(::open(crash_file.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
  ~Report() {
    if (file_ >= 0) ::close(file_);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  Report(Report&&) = delete;
  Report& operator=(Report&&) = delete;

  Report& operator<<(std::string_view text) {
    for (const int to : {terminal_, file_}) {
      if (to < 0) continue;
      [[maybe_unused]] const auto written = ::write(to, text.data(), text.size());
    }
    return *this;
  }
  Report& number(std::uint64_t value, int base = 10) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  void backtrace() {
    constexpr int most = 64;
    std::array<void*, most> frames{};
    const int count = ::backtrace(frames.data(), most);
    *this << "frames, innermost first; addr2line -Cfipe LIBRARY OFFSET names the line of "
             "\"LIBRARY(+OFFSET)\":\n";
    for (const int to : {terminal_, file_}) {
      if (to >= 0) ::backtrace_symbols_fd(frames.data(), count, to);
    }
  }

 private:
  int terminal_;  // both: -1 if absent
  int file_;
};

void write_call(Report& report, const RunningCall* call) {
  if (call == nullptr) {
    report << " outside of the stages' calls\n";
    return;
  }
  report << " in stage '" << call->stage << "' (" << call->type << "), while " << call->doing;
  if (call->packet != nullptr) {
    const Origin& origin = call->packet->origin();
    report << ", working on ";
    if (origin.file) report << *origin.file << " ";
    if (origin.line > 0) {
      report << "line ";
      report.number(static_cast<std::uint64_t>(origin.line)) << " ";
    }
    report << origin.item;
  }
  report << "\n";
}

extern "C" void on_crash(int signal, siginfo_t* info, void* /*context*/) {
  const auto* const crash = std::ranges::find(crashes, signal, &Crash::signal);
  {
    Report report(STDERR_FILENO);
    report << head << (crash == crashes.end() ? "signal" : crash->name);
    if (signal == SIGSEGV || signal == SIGBUS) {
      report << " at address 0x";
      report.number(reinterpret_cast<std::uintptr_t>(info->si_addr), 16);
    }
    write_call(report, current_call());
    report.backtrace();
  }
  // SA_RESETHAND has restored the default action, which ends the process.
  ::raise(signal);
}

void on_end(const RunningCall& call) {
  constexpr int nowhere = -1;  // the runner prints it
  Report report(nowhere);
  report << head << "the program was ended";
  write_call(report, &call);
}

/// A sanitizer has its own handler, with a better report.
bool has_own_handler() {
  struct sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  return now.sa_handler != SIG_DFL;  // NOLINT: a cast of the C library's
}

}  // namespace

CrashReport::CrashReport(const std::filesystem::path& run_directory) {
  const std::string file = (run_directory / file_name).string();
  if (file.size() < crash_file.size()) std::ranges::copy(file, crash_file.begin());
  tell_of_stages_that_end_the_program(on_end);
  if (has_own_handler()) return;
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);  // loads its library, which a handler must not do
  use_alternate_stack();
  for (std::size_t at = 0; at < crashes.size(); ++at) {
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
    ::sigaction(crashes.at(at).signal, &action, &before.at(at));
  }
}

CrashReport::~CrashReport() {
  tell_of_stages_that_end_the_program(nullptr);
  crash_file.fill('\0');
  struct sigaction now {};
  for (std::size_t at = 0; at < crashes.size(); ++at) {
    ::sigaction(crashes.at(at).signal, nullptr, &now);
    if (now.sa_sigaction == on_crash) {
      ::sigaction(crashes.at(at).signal, &before.at(at), nullptr);
    }
  }
}

std::string last_crash(const std::filesystem::path& run_directory) {
  std::ifstream stream(run_directory / file_name);
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(head)) last = line.substr(head.size());
  }
  return last;
}

}  // namespace seam::host
