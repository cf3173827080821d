#include "pipeline/run/crash_report.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "pipeline/graph/work_thread.hpp"
#include "pipeline/run/exit_code.hpp"
#include "pipeline/text/json.hpp"
#include "sdk/src/running_call.hpp"
#include "seam/packet.hpp"

namespace seam::host {
namespace {

struct Signal {
  int number;
  std::string_view name;
};
constexpr std::array<Signal, 5> crashes{{{SIGSEGV, "segmentation fault"},
                                         {SIGBUS, "bus error"},
                                         {SIGILL, "illegal instruction"},
                                         {SIGFPE, "arithmetic error"},
                                         {SIGABRT, "abort"}}};
constexpr std::string_view head = "crash: ";
constexpr int of_signal = 128;  // shells add it to the signal's number
constexpr std::size_t longest_error = 3000;

// Data for the handlers, which are called without arguments.
constexpr std::size_t longest_path = 4096;
using Path = std::array<char, longest_path>;
Path log_file{};
Path summary_file{};
Path program_file{};
std::array<struct sigaction, crashes.size()> before{};
pid_t reporting = 0;  // the process whose crash is reported

/// A text of limited size. Safe in a signal handler, because it allocates no memory. Anything that
/// does not fit is cut off.
class Text {
 public:
  Text& operator<<(std::string_view more) {
    more = more.substr(0, text_.size() - size_);
    std::ranges::copy(more, text_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += more.size();
    return *this;
  }
  Text& number(std::uint64_t value, int base = 10) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  /// Adds a JSON string, with ? for characters that are not ASCII; the log has them unchanged.
  Text& quoted(std::string_view text) {
    *this << "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') *this << "\\";
      const bool printed = c >= ' ' && c <= '~';
      *this << (printed ? std::string_view(&c, 1) : "?");
    }
    return *this << "\"";
  }
  void write_to(int file) const {
    if (file < 0) return;
    [[maybe_unused]] const auto written = ::write(file, text_.data(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 8192> text_{};
  std::size_t size_ = 0;
};

void write_call(Text& text, const RunningCall* call) {
  if (call == nullptr) {
    text << " outside of the stages' calls";
    return;
  }
  text << " in stage '" << call->stage << "' (" << call->type << "), while " << call->doing;
  if (call->packet == nullptr) return;
  const Origin& origin = call->packet->origin();
  text << ", working on ";
  if (origin.file) text << *origin.file << " ";
  if (origin.line > 0) {
    text << "line ";
    text.number(static_cast<std::uint64_t>(origin.line)) << " ";
  }
  text << origin.item;
}

/// Returns the address at which the signal interrupted the thread, or 0 if it is unknown.
std::uintptr_t interrupted_at([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  return 0;
#endif
}

/// Writes "LIBRARY(+OFFSET) symbol". The return address of a call is that of the next instruction,
/// which may belong to a different line.
void write_frame(Text& text, std::uintptr_t address, std::uintptr_t interrupted) {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(address), &found) == 0) {  // NOLINT(*-int-to-ptr)
    text << "0x";
    text.number(address, 16) << " is not in a library\n";
    return;
  }
  Dl_info program{};
  ::dladdr(reinterpret_cast<const void*>(&write_frame), &program);
  const bool is_program = found.dli_fbase == program.dli_fbase && program_file.front() != '\0';
  text << (is_program ? program_file.data() : found.dli_fname) << "(+0x";
  const std::uintptr_t exact = address == interrupted ? address : address - 1;
  text.number(exact - reinterpret_cast<std::uintptr_t>(found.dli_fbase), 16) << ")";
  if (found.dli_sname != nullptr) text << " " << found.dli_sname;
  text << "\n";
}

void write_frames(std::uintptr_t interrupted, int terminal, int log) {
  constexpr int most = 64;
  std::array<void*, most> frames{};
  auto* const end = frames.data() + ::backtrace(frames.data(), most);
  auto* from = std::find(frames.data(), end, reinterpret_cast<void*>(interrupted));  // NOLINT
  if (from == end) from = frames.data();
  for (; from != end; ++from) {
    Text text;
    write_frame(text, reinterpret_cast<std::uintptr_t>(*from), interrupted);
    text.write_to(terminal);
    text.write_to(log);
  }
}

/// Does not overwrite an existing summary, which describes how the run ended before.
void write_summary(std::string_view what, int exit_code, const RunningCall* call) {
  const int file = ::open(summary_file.data(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;
  Text text;
  text << "{\"outcome\":";
  text.quoted(crashed_outcome) << ",\"exit_code\":";
  text.number(static_cast<std::uint64_t>(exit_code)) << ",\"complete\":false,\"stage\":";
  text.quoted(call == nullptr ? std::string_view() : std::string_view(call->stage))
      << ",\"error\":";
  text.quoted(what.substr(0, longest_error));
  text << ",\"flows\":[]}\n";
  text.write_to(file);
  ::close(file);
}

/// `what`: "segmentation fault in stage ...". `terminal`: -1 if it has already been printed.
void write_report(const Text& what, const RunningCall* call, int exit_code,
                  std::uintptr_t interrupted, int terminal) {
  const int log = ::open(log_file.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  for (const int file : {terminal, log}) {
    (Text() << head).write_to(file);
    what.write_to(file);
    (Text() << "\nframes, innermost first; for source lines: seam doctor --crash "
            << log_file.data() << "\n")
        .write_to(file);
  }
  write_frames(interrupted, terminal, log);
  if (log >= 0) ::close(log);
  write_summary(what.view(), exit_code, call);
}

/// Ends the process by the signal's default action.
void raise_default(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;  // NOLINT: a cast of the C library's
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);
}

extern "C" void on_crash(int signal, siginfo_t* info, void* context) {
  if (::getpid() != reporting) return raise_default(signal);  // a child that a stage forked
  // Several threads may crash at once. The first one reports and ends the process.
  static std::atomic_flag reports = ATOMIC_FLAG_INIT;
  static std::atomic<pthread_t> reporter;
  if (reports.test_and_set()) {
    if (::pthread_equal(reporter, ::pthread_self()) != 0)
      raise_default(signal);  // the report failed
    while (true) ::pause();
  }
  reporter = ::pthread_self();
  const auto* const crash = std::ranges::find(crashes, signal, &Signal::number);
  const RunningCall* const call = current_call();
  Text what;
  what << (crash == crashes.end() ? "signal" : crash->name);
  const bool of_kernel = info->si_code > 0;  // otherwise it was sent and has no address
  if (of_kernel && (signal == SIGSEGV || signal == SIGBUS)) {
    what << " at address 0x";
    what.number(reinterpret_cast<std::uintptr_t>(info->si_addr), 16);
  }
  write_call(what, call);
  write_report(what, call, of_signal + signal, interrupted_at(context), STDERR_FILENO);
  raise_default(signal);
}

void on_end(const RunningCall* call) {
  constexpr int nowhere = -1;  // the runner prints it
  Text what;
  what << "the program was ended";
  write_call(what, call);
  write_report(what, call, static_cast<int>(ExitCode::internal), 0, nowhere);
}

/// A sanitizer has its own handler, with a better report.
bool has_own_handler() {
  struct sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  return now.sa_handler != SIG_DFL;  // NOLINT: a cast of the C library's
}

void keep(Path& kept, const std::filesystem::path& path) {
  const std::string text = path.string();
  if (text.size() < kept.size()) std::ranges::copy(text, kept.begin());
}

/// Parses "/opt/acme/seam_acme.so(+0x6f2f) symbol"; returns nullopt for other lines.
std::optional<CrashFrame> read_frame(const std::string& line) {
  constexpr std::string_view opening = "(+0x";
  const std::size_t open = line.rfind(opening);
  const std::size_t close = open == std::string::npos ? open : line.find(')', open);
  if (close == std::string::npos) return std::nullopt;
  CrashFrame frame{line.substr(0, open), line.substr(open + 2, close - open - 2), {}};
  if (close + 2 < line.size()) frame.symbol = line.substr(close + 2);
  return frame;
}

}  // namespace

CrashReport::CrashReport(const RunDirectory& directory) {
  keep(log_file, directory.log());
  keep(summary_file, directory.summary());
  std::error_code unknown;
  keep(program_file, std::filesystem::read_symlink("/proc/self/exe", unknown));
  tell_of_stages_that_end_the_program(on_end);
  reporting = ::getpid();
  if (has_own_handler()) return;
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), 1);  // loads its library, which a handler must not do
  use_alternate_stack();
  for (std::size_t at = 0; at < crashes.size(); ++at) {
    struct sigaction action {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigaction(crashes.at(at).number, &action, &before.at(at));
  }
}

CrashReport::~CrashReport() {
  tell_of_stages_that_end_the_program(nullptr);
  log_file.fill('\0');
  summary_file.fill('\0');
  struct sigaction now {};
  for (std::size_t at = 0; at < crashes.size(); ++at) {
    ::sigaction(crashes.at(at).number, nullptr, &now);
    if (now.sa_sigaction == on_crash) ::sigaction(crashes.at(at).number, &before.at(at), nullptr);
  }
}

std::string last_crash(const std::filesystem::path& run_directory) {
  std::ifstream file(run_directory / "summary.json");
  const Json json = try_parse_json(file);
  if (!json.is_object() || json.value("outcome", "") != crashed_outcome) return {};
  return json.value("error", "");
}

std::optional<Crash> find_crash(const std::string& text) {
  std::optional<Crash> crash;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(head)) {
      crash = Crash{line.substr(head.size()), {}};
    } else if (const auto frame = read_frame(line); crash && frame) {
      crash->frames.push_back(*frame);
    }
  }
  return crash;
}

}  // namespace seam::host
